// The cases that do not pass, each with its reason. `shows` are texts of the failure, so that a case that begins to fail for
// another reason is noticed. A listed case must fail: the test fails if it passes, and if a case fails that is not listed.
export const DIFFERENCES = [
  {
    kind: 'by our contract',
    reason: 'A path with `.` or `..` is refused as an escape, before anything is looked up. The SDK resolves it first.',
    shows: ['would escape /memories directory'],
    cases: [
      'delete_not_allow_deleting_memories_directory[/memories/.]',
      'delete_not_allow_deleting_memories_directory[/memories/sub/..]',
      'rename_not_allow_renaming_memories_directory[/memories/.]',
      'rename_not_allow_renaming_memories_directory[/memories/sub/..]',
    ],
  },
  {
    kind: 'by our contract',
    reason: 'The sentence for a missing file is the one that the tool’s documentation has for insert.',
    shows: ['got: Error: The path /memories/nonexistent.txt does not exist'],
    cases: ['insert_error_for_non_existent_file'],
  },
  {
    kind: 'by our contract',
    reason: 'The sentence for a file that is too long is the one of the tool’s documentation.',
    shows: ['exceeds maximum line limit of 999,999 lines'],
    cases: ['view_error_for_files_with_too_many_lines'],
  },
  {
    kind: 'by our contract',
    reason: 'The documentation has one sentence for a path that is no file: it does not exist.',
    shows: ['got: Error: The path /memories/dir does not exist'],
    cases: ['str_replace_refuses_a_directory', 'insert_refuses_a_directory'],
  },
  {
    kind: 'by our contract',
    reason: 'A final newline ends the last line. The SDK shows an empty line after it.',
    shows: ['line3'],
    cases: ['view_preserves_crlf_line_endings'],
  },
  {
    kind: 'by our contract',
    reason: 'Sizes have one decimal place, as `du -h` and the tool’s documentation show them.',
    shows: ['1.0K'],
    cases: ['view_directory_shows_sizes'],
  },
  {
    kind: 'by our contract',
    reason: 'A name that only begins like the root is outside the memory. The SDK takes it for a name in the root.',
    shows: ['got: Error: Path must start with /memories, got: /memoriesfoo'],
    cases: ['a_path_that_only_begins_like_the_root_is_no_path_of_the_memory'],
  },
  {
    kind: 'about real files',
    reason: 'The mode of files and folders; the store has none.',
    shows: ['no folder was made', 'ENOENT'],
    cases: ['mkdir_parents_not_world_writable_under_permissive_umask', 'files_are_for_their_owner_only'],
  },
  {
    kind: 'about real files',
    reason: 'Symbolic links in the folder of plain files, which the store does not look at.',
    shows: ['does not exist', 'did not fail: create', '/memories/inside_file'],
    cases: [
      'validate_path_returns_resolved_path_not_symlink_target',
      'read_rejects_symlink_created_after_validation[view]',
      'read_rejects_symlink_created_after_validation[str_replace]',
      'read_rejects_symlink_created_after_validation[insert]',
      'view_rejects_directory_symlink_created_after_validation',
      'symlink_validation_reject_symlink_pointing_outside_memories',
      'view_lists_symlinks_only_when_they_stay_inside_memories',
      'symlink_validation_reject_creating_files_through_symlink_pointing_outside',
      'symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside',
    ],
  },
  {
    kind: 'about real files',
    reason: 'A file on disk that is replaced by a link or a folder; the store has no file of that name on disk.',
    shows: ['ENOENT'],
    cases: [
      'read_rejects_file_replaced_with_symlink_before_open[view]',
      'read_rejects_file_replaced_with_symlink_before_open[str_replace]',
      'read_rejects_file_replaced_with_symlink_before_open[insert]',
      'a_file_that_cannot_be_read_is_an_error',
    ],
  },
];

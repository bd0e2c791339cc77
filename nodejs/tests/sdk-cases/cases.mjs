// What the SDKs test about their own memory tool, which keeps plain files: one case for each test of the Python package's
// `test_filesystem.py` (its two classes have the same ones), and one for each further behaviour that the source of the
// TypeScript tool shows. The texts are those of the TypeScript tool.
//
// A case gets `run`, which makes a call and returns its text or throws its error; `fails`, which expects an error with a text;
// `memories`, the folder of plain files, and `init`, which makes a tool on another one; and `write` and `snapshot` for the
// content of the memory.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOTS = ['/memories', '/memories/', '/memories/.', '/memories/sub/..'];
const CRLF = 'line1\r\nline2\r\nline3\r\n';
const NUMBERED = (path, lines) => `Here's the content of ${path} with line numbers:\n${lines}`;

const create = (file_text, path) => ({ command: 'create', path, file_text });
const view = (path, view_range) => ({ command: 'view', path, ...(view_range && { view_range }) });
const replace = (path, old_str, new_str) => ({ command: 'str_replace', path, old_str, new_str });
const insert = (path, insert_line, insert_text) => ({ command: 'insert', path, insert_line, insert_text });
const remove = (path) => ({ command: 'delete', path });
const rename = (old_path, new_path) => ({ command: 'rename', old_path, new_path });

export const CASES = {
  // ---- the tests of the Python package, in their order

  mkdir_parents_not_world_writable_under_permissive_umask: async ({ init, run }) => {
    const before = process.umask(0);
    try {
      const folder = await init(join('nested', 'memory'));
      await run(create('x', '/memories/deep/file'));
      const made = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
      assert(made.some((entry) => entry.name === 'deep'), 'no folder was made');
      for (const entry of made) assert.equal(statSync(join(entry.parentPath, entry.name)).mode & 0o777, 0o700);
    } finally {
      process.umask(before);
    }
  },
  create: async ({ run, snapshot }) => {
    const made = await run(create('Hello, World!', '/memories/test_file.txt'));
    assert.equal(made, 'File created successfully at: /memories/test_file.txt');
    assert.deepEqual(await snapshot(), { 'test_file.txt': 'Hello, World!' });
  },
  create_nested_directories: async ({ run, snapshot }) => {
    const made = await run(create('Nested file', '/memories/deep/nested/file.txt'));
    assert.equal(made, 'File created successfully at: /memories/deep/nested/file.txt');
    assert.deepEqual(await snapshot(), { 'deep/nested/file.txt': 'Nested file' });
  },
  create_error_if_file_already_exists: async ({ run, fails, snapshot }) => {
    await run(create('Original', '/memories/existing.txt'));
    await fails(create('New', '/memories/existing.txt'), 'File /memories/existing.txt already exists');
    assert.deepEqual(await snapshot(), { 'existing.txt': 'Original' });
  },
  view_file: async ({ run }) => {
    await run(create('Line 1\nLine 2\nLine 3', '/memories/view_test.txt'));
    const lines = '     1\tLine 1\n     2\tLine 2\n     3\tLine 3';
    assert.equal(await run(view('/memories/view_test.txt')), NUMBERED('/memories/view_test.txt', lines));
  },
  view_directory: async ({ run }) => {
    await run(create('File 1', '/memories/dir/file1.txt'));
    await run(create('File 2', '/memories/dir/file2.txt'));
    const listing = await run(view('/memories/dir'));
    for (const part of ["Here're the files and directories up to 2 levels deep in /memories/dir", '/memories/dir/file1.txt', '/memories/dir/file2.txt']) {
      assert(listing.includes(part), listing);
    }
  },
  view_file_with_range: async ({ run }) => {
    await run(create('Line 1\nLine 2\nLine 3\nLine 4\nLine 5', '/memories/range_test.txt'));
    const lines = '     2\tLine 2\n     3\tLine 3\n     4\tLine 4';
    assert.equal(await run(view('/memories/range_test.txt', [2, 4])), NUMBERED('/memories/range_test.txt', lines));
  },
  view_error_for_non_existent_file: ({ fails }) =>
    fails(view('/memories/nonexistent.txt'), 'The path /memories/nonexistent.txt does not exist. Please provide a valid path.'),
  view_error_for_files_with_too_many_lines: async ({ run, fails }) => {
    await run(create(Array(1_000_000).fill('line').join('\n'), '/memories/huge.txt'));
    await fails(view('/memories/huge.txt'), 'has too many lines (1000000). Maximum is 999,999 lines.');
  },
  str_replace: async ({ run, snapshot }) => {
    await run(create('Line 1\nOld Text\nLine 3', '/memories/replace_test.txt'));
    const edited = await run(replace('/memories/replace_test.txt', 'Old Text', 'New Text'));
    const lines = '     1\tLine 1\n     2\tNew Text\n     3\tLine 3';
    assert.equal(edited, `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${lines}`);
    assert.deepEqual(await snapshot(), { 'replace_test.txt': 'Line 1\nNew Text\nLine 3' });
  },
  str_replace_error_when_string_not_found: async ({ run, fails }) => {
    await run(create('Hello, World!', '/memories/replace_test.txt'));
    await fails(
      replace('/memories/replace_test.txt', 'NotFound', 'Python'),
      'No replacement was performed, old_str `NotFound` did not appear verbatim in /memories/replace_test.txt.',
    );
  },
  str_replace_error_when_string_appears_multiple_times: async ({ run, fails }) => {
    await run(create('Hello\nMiddle\nHello', '/memories/replace_test.txt'));
    await fails(
      replace('/memories/replace_test.txt', 'Hello', 'Hi'),
      'No replacement was performed. Multiple occurrences of old_str `Hello` in lines: 1, 3. Please ensure it is unique',
    );
  },
  str_replace_error_for_non_existent_file: ({ fails }) =>
    fails(replace('/memories/nonexistent.txt', 'old', 'new'), 'The path /memories/nonexistent.txt does not exist. Please provide a valid path.'),
  insert: async ({ run, snapshot }) => {
    await run(create('Line 1\nLine 2', '/memories/insert_test.txt'));
    const edited = await run(insert('/memories/insert_test.txt', 1, 'Inserted Line'));
    assert.equal(edited, 'The file /memories/insert_test.txt has been edited.');
    assert.deepEqual(await snapshot(), { 'insert_test.txt': 'Line 1\nInserted Line\nLine 2' });
  },
  insert_at_beginning_of_file: async ({ run, snapshot }) => {
    await run(create('Line 1\nLine 2', '/memories/insert_test.txt'));
    await run(insert('/memories/insert_test.txt', 0, 'First Line'));
    assert.deepEqual(await snapshot(), { 'insert_test.txt': 'First Line\nLine 1\nLine 2' });
  },
  insert_at_end_of_file: async ({ run, snapshot }) => {
    await run(create('Line 1\nLine 2', '/memories/insert_test.txt'));
    await run(insert('/memories/insert_test.txt', 2, 'Last Line'));
    assert.deepEqual(await snapshot(), { 'insert_test.txt': 'Line 1\nLine 2\nLast Line' });
  },
  view_preserves_crlf_line_endings: async ({ run, write }) => {
    await write('crlf.txt', CRLF);
    const lines = '     1\tline1\r\n     2\tline2\r\n     3\tline3\r\n     4\t';
    assert.equal(await run(view('/memories/crlf.txt')), NUMBERED('/memories/crlf.txt', lines));
  },
  str_replace_preserves_crlf_line_endings: async ({ run, write, snapshot }) => {
    await write('crlf.txt', CRLF);
    await run(replace('/memories/crlf.txt', 'line2', 'LINE2'));
    assert.deepEqual(await snapshot(), { 'crlf.txt': 'line1\r\nLINE2\r\nline3\r\n' });
  },
  insert_preserves_crlf_line_endings: async ({ run, write, snapshot }) => {
    await write('crlf.txt', CRLF);
    await run(insert('/memories/crlf.txt', 1, 'Inserted'));
    assert.deepEqual(await snapshot(), { 'crlf.txt': 'line1\r\nInserted\nline2\r\nline3\r\n' });
  },
  insert_error_for_non_existent_file: ({ fails }) =>
    fails(insert('/memories/nonexistent.txt', 0, 'text'), 'The path /memories/nonexistent.txt does not exist. Please provide a valid path.'),
  insert_error_for_invalid_insert_line: async ({ run, fails }) => {
    await run(create('Line 1\nLine 2', '/memories/insert_test.txt'));
    await fails(
      insert('/memories/insert_test.txt', 10, 'text'),
      'Invalid `insert_line` parameter: 10. It should be within the range of lines of the file: [0, 2]',
    );
  },
  delete: async ({ run, snapshot }) => {
    await run(create('To be deleted', '/memories/delete_me.txt'));
    assert.equal(await run(remove('/memories/delete_me.txt')), 'Successfully deleted /memories/delete_me.txt');
    assert.deepEqual(await snapshot(), {});
  },
  delete_directory: async ({ run, snapshot }) => {
    await run(create('Content', '/memories/subdir/file.txt'));
    assert.equal(await run(remove('/memories/subdir')), 'Successfully deleted /memories/subdir');
    assert.deepEqual(await snapshot(), {});
  },
  delete_error_when_file_not_found: ({ fails }) =>
    fails(remove('/memories/nonexistent.txt'), 'The path /memories/nonexistent.txt does not exist'),
  ...eachRoot('delete_not_allow_deleting_memories_directory', async ({ run, fails, snapshot }, path) => {
    await run(create('x', '/memories/kept'));
    await fails(remove(path), 'Cannot delete the /memories directory itself');
    assert.deepEqual(await snapshot(), { kept: 'x' });
  }),
  rename: async ({ run, snapshot }) => {
    await run(create('Original content', '/memories/old_name.txt'));
    const renamed = await run(rename('/memories/old_name.txt', '/memories/new_name.txt'));
    assert.equal(renamed, 'Successfully renamed /memories/old_name.txt to /memories/new_name.txt');
    assert.deepEqual(await snapshot(), { 'new_name.txt': 'Original content' });
  },
  rename_to_nested_path: async ({ run, snapshot }) => {
    await run(create('Content', '/memories/file.txt'));
    const renamed = await run(rename('/memories/file.txt', '/memories/nested/dir/file.txt'));
    assert.equal(renamed, 'Successfully renamed /memories/file.txt to /memories/nested/dir/file.txt');
    assert.deepEqual(await snapshot(), { 'nested/dir/file.txt': 'Content' });
  },
  rename_error_when_source_not_found: ({ fails }) =>
    fails(rename('/memories/nonexistent.txt', '/memories/new.txt'), 'The path /memories/nonexistent.txt does not exist'),
  rename_error_when_destination_exists: async ({ run, fails, snapshot }) => {
    await run(create('File 1', '/memories/file1.txt'));
    await run(create('File 2', '/memories/file2.txt'));
    await fails(rename('/memories/file1.txt', '/memories/file2.txt'), 'The destination /memories/file2.txt already exists');
    assert.deepEqual(await snapshot(), { 'file1.txt': 'File 1', 'file2.txt': 'File 2' });
  },
  ...eachRoot('rename_not_allow_renaming_memories_directory', async ({ fails, base }, path) => {
    const message = await fails(rename(path, '/memories/moved'), 'Cannot rename the /memories directory itself');
    assert(!message.includes(base), message);
  }),
  path_validation_reject_paths_not_starting_with_memories: ({ fails }) =>
    fails(create('Invalid', '/invalid/path.txt'), 'Path must start with /memories'),
  path_validation_reject_paths_trying_to_escape_memories: ({ fails }) =>
    fails(
      create('Escape attempt', '/memories/../../../etc/passwd'),
      'Path /memories/../../../etc/passwd would escape /memories directory',
    ),
  validate_path_returns_resolved_path_not_symlink_target: async ({ memories, run, snapshot }) => {
    writeFileSync(join(memories, 'target'), 'kept');
    symlinkSync('target', join(memories, 'link'));
    assert.match(await run(remove('/memories/link')), /Successfully deleted/);
    assert.deepEqual(await snapshot(), { target: 'kept' });
  },
  ...eachReader('read_rejects_symlink_created_after_validation', async ({ memories, fails }, command) => {
    // The link is made before the call, because the private method that validates cannot be paused from here.
    symlinkSync(outsideFile(), join(memories, 'notes.txt'));
    await fails(command, 'would escape /memories directory');
  }),
  ...eachReader('read_rejects_file_replaced_with_symlink_before_open', async ({ memories, run, fails }, command) => {
    await run(create('outside inside', '/memories/notes.txt'));
    unlinkSync(join(memories, 'notes.txt'));
    symlinkSync(outsideFile(), join(memories, 'notes.txt'));
    await fails(command, 'would escape /memories directory');
  }),
  view_rejects_directory_symlink_created_after_validation: async ({ memories, fails }) => {
    symlinkSync(outsideFolder(), join(memories, 'dir'));
    await fails(view('/memories/dir'), 'would escape /memories directory');
  },
  symlink_validation_reject_symlink_pointing_outside_memories: async ({ memories, fails }) => {
    symlinkSync(outsideFolder(), join(memories, 'escape_link'));
    await fails(view('/memories/escape_link/secret.txt'), 'would escape /memories directory');
  },
  view_lists_symlinks_only_when_they_stay_inside_memories: async ({ memories, run }) => {
    mkdirSync(join(memories, 'sub'));
    writeFileSync(join(memories, 'sub', 'notes.txt'), 'hello');
    symlinkSync(join('sub', 'notes.txt'), join(memories, 'inside_file'));
    symlinkSync(outsideFolder(), join(memories, 'outside_dir'));
    symlinkSync(outsideFile(), join(memories, 'outside_file'));
    const paths = (await run(view('/memories'))).split('\n').slice(2).map((line) => line.split('\t')[1]);
    assert.deepEqual(paths, ['/memories/inside_file', '/memories/sub/', '/memories/sub/notes.txt']);
  },
  symlink_validation_reject_creating_files_through_symlink_pointing_outside: async ({ memories, fails }) => {
    symlinkSync(outsideFolder(), join(memories, 'bad_link'));
    await fails(create('malicious content', '/memories/bad_link/hacked.txt'), 'would escape /memories directory');
  },
  symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside: async ({ memories, fails }) => {
    symlinkSync(outsideFolder(), join(memories, 'subdir'));
    await fails(create('content', '/memories/subdir/nested/file.txt'), 'would escape /memories directory');
  },

  // ---- further behaviours of the TypeScript tool

  files_are_for_their_owner_only: async ({ memories, run }) => {
    await run(create('x', '/memories/file'));
    assert.equal(statSync(join(memories, 'file')).mode & 0o777, 0o600);
    await run(replace('/memories/file', 'x', 'y'));
    assert.equal(statSync(join(memories, 'file')).mode & 0o777, 0o600);
  },
  an_edit_leaves_no_temporary_file: async ({ run, snapshot }) => {
    await run(create('a\n', '/memories/file'));
    await run(replace('/memories/file', 'a', 'b'));
    await run(insert('/memories/file', 1, 'c'));
    assert.deepEqual(Object.keys(await snapshot()), ['file']);
  },
  str_replace_takes_dollar_signs_literally: async ({ run, snapshot }) => {
    await run(create('price: 5', '/memories/file'));
    await run(replace('/memories/file', '5', "$& $1 $$ $'"));
    assert.deepEqual(await snapshot(), { file: "price: $& $1 $$ $'" });
  },
  str_replace_shows_two_lines_around_the_change: async ({ run }) => {
    await run(create('1\n2\n3\n4\n5\n6\n7', '/memories/file'));
    const edited = await run(replace('/memories/file', '4', 'four'));
    assert(edited.endsWith('\n     2\t2\n     3\t3\n     4\tfour\n     5\t5\n     6\t6'), edited);
  },
  str_replace_refuses_a_directory: async ({ run, fails }) => {
    await run(create('x', '/memories/dir/file'));
    await fails(replace('/memories/dir', 'x', 'y'), 'The path /memories/dir is not a file.');
  },
  insert_refuses_a_directory: async ({ run, fails }) => {
    await run(create('x', '/memories/dir/file'));
    await fails(insert('/memories/dir', 0, 'y'), 'The path /memories/dir is not a file.');
  },
  insert_refuses_a_negative_line: async ({ run, fails }) => {
    await run(create('a\nb', '/memories/file'));
    await fails(insert('/memories/file', -1, 'x'), 'Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 2]');
  },
  insert_takes_one_final_newline_of_the_text_as_the_end_of_its_line: async ({ run, snapshot }) => {
    await run(create('a\nb\n', '/memories/file'));
    await run(insert('/memories/file', 1, 'x\n'));
    assert.deepEqual(await snapshot(), { file: 'a\nx\nb\n' });
  },
  view_range_to_the_end: async ({ run }) => {
    await run(create('a\nb\nc', '/memories/file'));
    assert.equal(await run(view('/memories/file', [2, -1])), NUMBERED('/memories/file', '     2\tb\n     3\tc'));
  },
  view_range_past_the_end: async ({ run }) => {
    await run(create('a\nb\nc', '/memories/file'));
    assert.equal(await run(view('/memories/file', [2, 9])), NUMBERED('/memories/file', '     2\tb\n     3\tc'));
  },
  view_directory_leaves_out_hidden_items_and_node_modules: async ({ run }) => {
    for (const path of ['.hidden', 'node_modules/x', 'a/.hidden', 'a/shown']) await run(create('12345', `/memories/${path}`));
    const lines = (await run(view('/memories'))).split('\n').slice(2).map((line) => line.split('\t')[1]);
    assert.deepEqual(lines, ['/memories/a/', '/memories/a/shown']);
  },
  view_directory_goes_two_levels_deep: async ({ run }) => {
    await run(create('x', '/memories/a/b/c/d'));
    const lines = (await run(view('/memories'))).split('\n').slice(2).map((line) => line.split('\t')[1]);
    assert.deepEqual(lines, ['/memories/a/', '/memories/a/b/']);
  },
  view_directory_shows_sizes: async ({ run }) => {
    for (const [name, bytes] of [['a', 0], ['b', 5], ['c', 1024], ['d', 1536]]) {
      await run(create('x'.repeat(bytes), `/memories/${name}`));
    }
    const sizes = (await run(view('/memories'))).split('\n').slice(2).map((line) => line.split('\t')[0]);
    assert.deepEqual(sizes, ['0B', '5B', '1K', '1.5K']);
  },
  a_path_that_only_begins_like_the_root_is_no_path_of_the_memory: async ({ fails, snapshot }) => {
    await fails(view('/memoriesfoo'), 'does not exist');
    assert.deepEqual(await snapshot(), {});
  },
  an_unknown_command_is_refused: ({ fails }) => fails({ command: 'bogus' }, 'bogus'),
  a_file_that_cannot_be_read_is_an_error: async ({ memories, run, fails }) => {
    await run(create('x', '/memories/file'));
    chmodSync(join(memories, 'file'), 0);
    unlinkSync(join(memories, 'file'));
    mkdirSync(join(memories, 'file'));
    await fails(replace('/memories/file', 'x', 'y'), 'is not a file');
  },
};

function eachRoot(name, test) {
  return Object.fromEntries(ROOTS.map((path) => [`${name}[${path}]`, (context) => test(context, path)]));
}

function eachReader(name, test) {
  const path = '/memories/notes.txt';
  const commands = [view(path), replace(path, 'outside', 'x'), insert(path, 0, 'x')];
  return Object.fromEntries(commands.map((command) => [`${name}[${command.command}]`, (context) => test(context, command)]));
}

function outsideFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'outside'));
  writeFileSync(join(folder, 'secret.txt'), 'sensitive data');
  return folder;
}

function outsideFile() {
  return join(outsideFolder(), 'secret.txt');
}

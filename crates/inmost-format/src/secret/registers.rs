//! Zeroing vector registers.
//!
//! Primitives, and copies of keys, leave their last values in vector registers, and a core dump contains them. Only
//! assembly can name a register, and assembly is unsafe code. It covers x86-64 and 64-bit ARM, and does nothing elsewhere. It covers no general-purpose registers, which the code that runs next overwrites at once.
#![allow(unsafe_code, reason = "inline assembly, which touches registers only")]

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::arch::asm;

/// Zeroes the vector registers that a function may change, in their whole width.
#[cfg(target_arch = "x86_64")]
pub(super) fn wipe() {
    if is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the instruction. It zeroes vector registers 0 to 15, which `clobber_abi` names, and
        // changes no memory, stack or flags.
        unsafe { asm!("vzeroall", clobber_abi("sysv64"), options(nomem, nostack, preserves_flags)) }
    } else {
        // SAFETY: every x86-64 processor has the instruction. It changes the registers that `clobber_abi` names alone.
        unsafe {
            asm!(
                "pxor xmm0, xmm0",
                "pxor xmm1, xmm1",
                "pxor xmm2, xmm2",
                "pxor xmm3, xmm3",
                "pxor xmm4, xmm4",
                "pxor xmm5, xmm5",
                "pxor xmm6, xmm6",
                "pxor xmm7, xmm7",
                "pxor xmm8, xmm8",
                "pxor xmm9, xmm9",
                "pxor xmm10, xmm10",
                "pxor xmm11, xmm11",
                "pxor xmm12, xmm12",
                "pxor xmm13, xmm13",
                "pxor xmm14, xmm14",
                "pxor xmm15, xmm15",
                clobber_abi("sysv64"),
                options(nomem, nostack, preserves_flags),
            );
        }
    }
    // Copies in the C library use registers 16 to 31 where there are any. The short form zeroes the whole width too,
    // and does not slow the processor down as the long one can.
    if is_x86_feature_detected!("avx512vl") {
        // SAFETY: the processor has the instruction. It changes the registers that `clobber_abi` names alone.
        unsafe {
            asm!(
                "vpxorq xmm16, xmm16, xmm16",
                "vpxorq xmm17, xmm17, xmm17",
                "vpxorq xmm18, xmm18, xmm18",
                "vpxorq xmm19, xmm19, xmm19",
                "vpxorq xmm20, xmm20, xmm20",
                "vpxorq xmm21, xmm21, xmm21",
                "vpxorq xmm22, xmm22, xmm22",
                "vpxorq xmm23, xmm23, xmm23",
                "vpxorq xmm24, xmm24, xmm24",
                "vpxorq xmm25, xmm25, xmm25",
                "vpxorq xmm26, xmm26, xmm26",
                "vpxorq xmm27, xmm27, xmm27",
                "vpxorq xmm28, xmm28, xmm28",
                "vpxorq xmm29, xmm29, xmm29",
                "vpxorq xmm30, xmm30, xmm30",
                "vpxorq xmm31, xmm31, xmm31",
                clobber_abi("sysv64"),
                options(nomem, nostack, preserves_flags),
            );
        }
    }
}

/// Zeroes the vector registers that a function may change: all but 8 to 15, of which it must keep the lower half.
#[cfg(target_arch = "aarch64")]
pub(super) fn wipe() {
    // SAFETY: every AArch64 processor that Rust's standard library runs on has these registers. The instructions
    // change the registers that `clobber_abi` names alone.
    unsafe {
        asm!(
            "movi v0.2d, #0",
            "movi v1.2d, #0",
            "movi v2.2d, #0",
            "movi v3.2d, #0",
            "movi v4.2d, #0",
            "movi v5.2d, #0",
            "movi v6.2d, #0",
            "movi v7.2d, #0",
            "movi v16.2d, #0",
            "movi v17.2d, #0",
            "movi v18.2d, #0",
            "movi v19.2d, #0",
            "movi v20.2d, #0",
            "movi v21.2d, #0",
            "movi v22.2d, #0",
            "movi v23.2d, #0",
            "movi v24.2d, #0",
            "movi v25.2d, #0",
            "movi v26.2d, #0",
            "movi v27.2d, #0",
            "movi v28.2d, #0",
            "movi v29.2d, #0",
            "movi v30.2d, #0",
            "movi v31.2d, #0",
            clobber_abi("C"),
            options(nomem, nostack, preserves_flags),
        );
    }
}

/// Does nothing: the registers of this architecture are not covered.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn wipe() {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_zero_afterwards() {
        let (mut before, mut after) = ([0_u64; 2], [0_u64; 2]);
        let secret = [0xa7a7_a7a7_u64; 2];
        // SAFETY: the pointers are those of arrays of 16 bytes, and the register is named as changed.
        unsafe {
            asm!(
                "movdqu xmm7, [{secret}]", "movdqu [{before}], xmm7",
                secret = in(reg) secret.as_ptr(), before = in(reg) before.as_mut_ptr(),
                out("xmm7") _, options(nostack),
            );
        }
        wipe();
        // SAFETY: as above; in assembly, reading a register that was not set is not undefined behaviour.
        unsafe {
            asm!("movdqu [{after}], xmm7", after = in(reg) after.as_mut_ptr(), options(nostack));
        }
        assert_eq!(before, secret, "the probe works");
        assert_eq!(after, [0; 2]);
    }
}

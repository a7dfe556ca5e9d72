public import CSimdJSON
public import Glibc

/// Names and texts of the program, compared with those of a document.
///
/// Where the compiler sees the text, its length, its words and its bit are constants, and a comparison is a
/// few instructions. So what reads a field by name is inlined down to here, into the code that names it,
/// in other modules too: that is why this module's imports of C are public.
extension StaticString {
    /// The first eight bytes, or all of a shorter text moved up, as a little-endian load and a shift leave
    /// them.
    @inlinable @inline(always)
    var firstWord: UInt64 {
        let length = utf8CodeUnitCount
        let bytes = unsafe UnsafeRawPointer(utf8Start)
        if length >= 8 { return unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)) }
        if length == 0 { return 0 }
        if length >= 4 {
            // Two halves that overlap.
            let first = unsafe UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
            let last = unsafe UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: length - 4, as: UInt32.self))
            return (UInt64(first) | UInt64(last) << UInt64(8 * (length - 4))) << UInt64(64 - 8 * length)
        }
        // One to three: first, middle and last are all of them.
        let first = unsafe UInt64(bytes.load(as: UInt8.self))
        let middle = unsafe UInt64(bytes.load(fromByteOffset: length / 2, as: UInt8.self))
        let last = unsafe UInt64(bytes.load(fromByteOffset: length - 1, as: UInt8.self))
        let word = first | middle << UInt64(8 * (length / 2)) | last << UInt64(8 * (length - 1))
        return word << UInt64(64 - 8 * length)
    }

    /// The bit of a member's name: most fields of most records are not there, and this says so without a
    /// search.
    @inlinable @inline(always)
    var nameBit: UInt64 { json_name_bit(firstWord, UInt32(truncatingIfNeeded: utf8CodeUnitCount)) }

    /// Whether a document has this at a pointer; behind every byte of it eight bytes may be read.
    @inlinable @inline(always)
    func isAt(_ pointer: UnsafePointer<UInt8>, length: UInt32) -> Bool {
        let count = utf8CodeUnitCount
        guard length == UInt32(truncatingIfNeeded: count) else { return false }
        if count == 0 { return true }
        let bytes = unsafe UnsafeRawPointer(pointer)
        let first = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        if count <= 8 { return first << UInt64(64 - 8 * count) == firstWord }
        guard first == firstWord else { return false }
        let wanted = unsafe UnsafeRawPointer(utf8Start)
        if count > 24 { return unsafe memcmp(bytes, wanted, count) == 0 }
        if count > 16 {
            guard
                unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                    == wanted.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            else { return false }
        }
        // The last eight, which overlap with those before.
        return unsafe bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            == wanted.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
    }
}

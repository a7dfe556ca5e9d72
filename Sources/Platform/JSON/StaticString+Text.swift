public import CSimdJSON
public import Glibc

/// Comparison of a text of the program, such as the name of a field, with a text of a document.
///
/// It compares eight bytes at a time. If the compiler sees the text, its length and its words are constants,
/// and a comparison takes a few instructions. For this, every function that reads a field by name is inlined
/// into its caller, also in other modules. Therefore this module imports C publicly.
extension StaticString {
    /// The first eight bytes as a little-endian word. The word of a shorter text is shifted up, so that its lower bytes
    /// are 0. `isEqual` shifts the word of the document by as much, which drops the bytes that follow the text there.
    @inlinable @inline(always)
    var firstWord: UInt64 {
        let length = utf8CodeUnitCount
        let bytes = unsafe UnsafeRawPointer(utf8Start)
        if length >= 8 { return unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)) }
        if length == 0 { return 0 }
        if length >= 4 {
            // Two overlapping halves.
            let first = unsafe UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
            let last = unsafe UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: length - 4, as: UInt32.self))
            return (UInt64(first) | UInt64(last) << UInt64(8 * (length - 4))) << UInt64(64 - 8 * length)
        }
        // The first, the middle and the last byte are all bytes of a text with one to three bytes.
        let first = unsafe UInt64(bytes.load(as: UInt8.self))
        let middle = unsafe UInt64(bytes.load(fromByteOffset: length / 2, as: UInt8.self))
        let last = unsafe UInt64(bytes.load(fromByteOffset: length - 1, as: UInt8.self))
        let word = first | middle << UInt64(8 * (length / 2)) | last << UInt64(8 * (length - 1))
        return word << UInt64(64 - 8 * length)
    }

    /// One of 64 bits, chosen by a hash of the text. An object's node has the bits of all names. Most fields
    /// of most records are missing, and a bit that is not set shows this without a search.
    @inlinable @inline(always)
    var nameBit: UInt64 { json_name_bit(firstWord, UInt32(truncatingIfNeeded: utf8CodeUnitCount)) }

    /// Whether the text at a pointer into the document equals this text. At least eight bytes must be
    /// readable there, also if the text is shorter.
    @inlinable @inline(always)
    func isEqual(toTextAt pointer: UnsafePointer<UInt8>, length: UInt32) -> Bool {
        let count = utf8CodeUnitCount
        guard length == UInt32(truncatingIfNeeded: count) else { return false }
        if count == 0 { return true }
        let bytes = unsafe UnsafeRawPointer(pointer)
        let first = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        if count <= 8 { return first << UInt64(64 - 8 * count) == firstWord }
        guard first == firstWord else { return false }
        let ownBytes = unsafe UnsafeRawPointer(utf8Start)
        // A text of 9 to 24 bytes needs one or two more words.
        if count > 24 { return unsafe memcmp(bytes, ownBytes, count) == 0 }
        if count > 16 {
            guard
                unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                    == ownBytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            else { return false }
        }
        // The last eight bytes overlap the earlier ones.
        return unsafe bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            == ownBytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
    }
}

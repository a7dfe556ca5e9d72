/// A small file of the broker: a format number, the content and a checksum.
enum SealedFile {
    private static let formatSize = 4
    private static let checksumSize = 4

    static func seal(format: Int32, write: (inout WireWriter) -> Void) -> [UInt8] {
        var writer = WireWriter()
        writer.int32(format)
        write(&writer)
        let checksum = unsafe writer.withBytes { unsafe CRC32C.checksum(of: $0) }
        writer.uint32(checksum)
        return writer.copied()
    }

    /// Returns the content of a sound file, or nil if the file is damaged or has another format.
    static func unseal<Value>(
        _ bytes: [UInt8], format: Int32, read: (inout WireReader) throws(WireError) -> Value
    ) -> Value? {
        guard bytes.count >= formatSize + checksumSize else { return nil }
        let sealedBytes = [UInt8](bytes.dropLast(checksumSize))
        let checksum = bytes.suffix(checksumSize).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard CRC32C.checksum(of: sealedBytes) == checksum else { return nil }
        do throws(WireError) {
            return try WireReader.read(sealedBytes, elementsMax: .max) {
                (reader) throws(WireError) -> Value? in
                guard try reader.int32() == format else { return nil }
                return try read(&reader)
            }
        } catch {
            return nil
        }
    }
}

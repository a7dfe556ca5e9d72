/// A small file with a format number, the content and a checksum. A caller that can rebuild the file
/// treats a damaged one as missing.
enum SealedFile {
    static func seal(format: Int32, write: (inout WireWriter) -> Void) -> [UInt8] {
        var writer = WireWriter()
        writer.int32(format)
        write(&writer)
        let crc = unsafe writer.withBytes { unsafe CRC32C.checksum(of: $0) }
        writer.uint32(crc)
        return writer.copied()
    }

    static func unseal<Value>(
        _ bytes: [UInt8], format: Int32, read: (inout WireReader) throws(WireError) -> Value
    ) -> Value? {
        guard bytes.count >= 8 else { return nil }
        let content = [UInt8](bytes.dropLast(4))
        let sum = bytes.suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard CRC32C.checksum(of: content) == sum else { return nil }
        do throws(WireError) {
            return try WireReader.read(content, elementsMax: .max) {
                (reader) throws(WireError) -> Value? in
                guard try reader.int32() == format else { return nil }
                return try read(&reader)
            }
        } catch {
            return nil
        }
    }
}

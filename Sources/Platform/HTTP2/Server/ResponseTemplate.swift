internal import CNghttp2

/// The header block of an answer, built once. All answers share it that differ only in one field (`apns-id`),
/// whose value each answer supplies.
///
/// It is confined to one thread: an answer writes its value into the block until nghttp2 has copied it. The
/// block must outlive the frames made from it, and the session guarantees that.
@safe package final class ResponseTemplate {
    let fields: UnsafeMutablePointer<nghttp2_nv>
    let count: Int
    private let varyingIndex: Int?
    private let text: UnsafeMutablePointer<UInt8>

    package init(status: Int, headers: [HeaderField] = [], varying: String? = nil) throws(HeaderFieldError) {
        precondition((100...599).contains(status), "a status must have three digits")
        let last = varying.map { [HeaderField(name: $0, value: "", isIndexed: false)] } ?? []
        for field in headers + last { try field.check() }
        let all = [HeaderField(name: ":status", value: String(status))] + headers + last
        count = all.count
        varyingIndex = varying == nil ? nil : all.count - 1
        unsafe fields = .allocate(capacity: all.count)
        unsafe text = .allocate(capacity: all.reduce(1) { $0 + $1.name.utf8.count + $1.value.utf8.count })
        var end = unsafe text
        for (index, field) in all.enumerated() {
            let name = unsafe ResponseTemplate.write(field.name, to: &end)
            let value = unsafe ResponseTemplate.write(field.value, to: &end)
            var flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
            if index != varyingIndex { flags |= NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue }
            if !field.isIndexed { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
            unsafe (fields + index).initialize(
                to: nghttp2_nv(
                    name: name.baseAddress, value: value.baseAddress, namelen: name.count,
                    valuelen: value.count,
                    flags: UInt8(flags)))
        }
    }

    deinit {
        unsafe fields.deallocate()
        unsafe text.deallocate()
    }

    /// Sets the varying field to one answer's value until the closure returns.
    func withVaryingValue<R>(_ varying: Span<UInt8>, body: () -> R) -> R {
        precondition(varying.isEmpty || varyingIndex != nil, "the template names no varying field")
        return unsafe varying.withUnsafeBufferPointer { varying in
            if let varyingIndex {
                unsafe fields[varyingIndex].value = UnsafeMutablePointer(mutating: varying.baseAddress)
                unsafe fields[varyingIndex].valuelen = varying.count
            }
            return body()
        }
    }

    /// Returns the number of fields in this answer. A varying field without a value is omitted.
    func count(withVarying varying: Span<UInt8>) -> Int {
        varyingIndex != nil && varying.isEmpty ? count - 1 : count
    }

    private static func write(
        _ string: String, to end: inout UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutableBufferPointer<UInt8> {
        let start = unsafe end
        for byte in string.utf8 {
            unsafe end.pointee = byte
            unsafe end += 1
        }
        return unsafe UnsafeMutableBufferPointer(start: start, count: end - start)
    }
}

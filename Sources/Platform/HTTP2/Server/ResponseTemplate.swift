internal import CNghttp2

/// The header fields of an answer, built once for all answers that differ only in the value of one field, the
/// varying field (`apns-id`).
///
/// It is confined to one thread, because each answer sets its value in the shared fields until nghttp2 has
/// copied it. The template must outlive the frames that are made from it. The session guarantees that.
@safe package final class ResponseTemplate {
    /// The fields, `:status` first and the varying field last.
    let fields: UnsafeMutablePointer<nghttp2_nv>
    /// The number of fields.
    let count: Int
    private let varyingIndex: Int?
    /// The names and values of all fields, to which `fields` points.
    private let text: UnsafeMutablePointer<UInt8>

    /// Creates a template.
    ///
    /// - Parameter varying: The name of the varying field.
    package init(status: Int, headers: [HeaderField] = [], varying: String? = nil) throws(HeaderFieldError) {
        precondition((100...599).contains(status), "a status must have three digits")
        let varyingFields = varying.map { [HeaderField(name: $0, value: "", isIndexed: false)] } ?? []
        for field in headers + varyingFields { try field.check() }
        let allFields = [HeaderField(name: ":status", value: String(status))] + headers + varyingFields
        let textBytes = allFields.reduce(1) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        count = allFields.count
        varyingIndex = varying == nil ? nil : allFields.count - 1
        unsafe fields = .allocate(capacity: allFields.count)
        unsafe text = .allocate(capacity: textBytes)
        var end = unsafe text
        for (index, field) in allFields.enumerated() {
            let name = unsafe ResponseTemplate.write(field.name, to: &end)
            let value = unsafe ResponseTemplate.write(field.value, to: &end)
            // nghttp2 need not copy what `text` holds. It must copy the varying value.
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

    /// Copies a string to `end`, moves `end` behind it, and returns the copy.
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

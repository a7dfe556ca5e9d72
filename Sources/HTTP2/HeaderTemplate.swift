internal import CNghttp2

/// The header block of a message, laid out once and shared by all messages that differ only in
/// `:path` and in one more field (`apns-id`). Of such a message only these two are copied.
///
/// Pinned to one thread: a submission writes its path into the block, so two threads would send to
/// each other's tokens. The block must outlive the frames made of it; the sessions see to that.
@safe package final class HeaderTemplate {
    let fields: UnsafeMutablePointer<nghttp2_nv>
    let count: Int
    private let pathIndex: Int?
    private let varyingIndex: Int?
    private let text: UnsafeMutablePointer<UInt8>

    /// A request. `varying` names the field whose value each request brings.
    package convenience init(
        method: String, scheme: String = "https", authority: String, headers: [HeaderField],
        varying: String? = nil
    ) throws(HeaderFault) {
        let pseudo = [
            HeaderField(":method", method), HeaderField(":scheme", scheme),
            HeaderField(":authority", authority), HeaderField(":path", "", isIndexed: false),
        ]
        try self.init(pseudo: pseudo, pathIndex: 3, headers: headers, varying: varying)
    }

    /// An answer.
    package convenience init(
        status: Int, headers: [HeaderField] = [], varying: String? = nil
    ) throws(HeaderFault) {
        precondition((100...599).contains(status), "a status has three digits")
        try self.init(
            pseudo: [HeaderField(":status", String(status))], pathIndex: nil, headers: headers,
            varying: varying)
    }

    private init(
        pseudo: [HeaderField], pathIndex: Int?, headers: [HeaderField], varying: String?
    ) throws(HeaderFault) {
        let last = varying.map { [HeaderField($0, "", isIndexed: false)] } ?? []
        for field in headers + last { try field.check() }
        for field in pseudo { try field.checkValue() }
        let all = pseudo + headers + last
        count = all.count
        self.pathIndex = pathIndex
        varyingIndex = varying == nil ? nil : all.count - 1
        unsafe fields = .allocate(capacity: all.count)
        unsafe text = .allocate(capacity: all.reduce(1) { $0 + $1.name.utf8.count + $1.value.utf8.count })
        var end = unsafe text
        for (index, field) in all.enumerated() {
            let name = unsafe HeaderTemplate.write(field.name, &end)
            let value = unsafe HeaderTemplate.write(field.value, &end)
            var flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
            if index != pathIndex, index != varyingIndex { flags |= NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue }
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

    /// Points the fields that differ at the bytes of one message, until the closure returns.
    /// nghttp2 copies them within it.
    func with<R>(path: Span<UInt8>, varying: Span<UInt8>, _ body: () -> R) -> R {
        precondition(path.isEmpty == (pathIndex == nil), "a request has a path, an answer none")
        precondition(varying.isEmpty || varyingIndex != nil, "the template names no varying field")
        return unsafe path.withUnsafeBufferPointer { path in
            unsafe varying.withUnsafeBufferPointer { varying in
                if let pathIndex { unsafe point(pathIndex, at: path) }
                if let varyingIndex { unsafe point(varyingIndex, at: varying) }
                return body()
            }
        }
    }

    /// How many fields this message has: a varying field without a value is left out.
    func count(withVarying varying: Span<UInt8>) -> Int {
        varyingIndex != nil && varying.isEmpty ? count - 1 : count
    }

    private func point(_ index: Int, at bytes: UnsafeBufferPointer<UInt8>) {
        unsafe fields[index].value = UnsafeMutablePointer(mutating: bytes.baseAddress)
        unsafe fields[index].valuelen = bytes.count
    }

    private static func write(
        _ string: String, _ end: inout UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutableBufferPointer<UInt8> {
        let start = unsafe end
        for byte in string.utf8 {
            unsafe end.pointee = byte
            unsafe end += 1
        }
        return unsafe UnsafeMutableBufferPointer(start: start, count: end - start)
    }
}

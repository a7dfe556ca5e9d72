internal import CSimdJSON

/// A reader of JSON documents, one after the other. It checks each document completely. Then a closure takes
/// the fields that it needs. The reader builds no tree of objects, and allocates nothing per document after
/// its buffers have grown.
///
/// The reader is strict about the whole document, also about values that are only passed on: UTF-8, the
/// grammar, depth, 64-bit numbers, and no duplicate name in an object, however escaped. So two programs
/// cannot read the same bytes differently.
///
/// Confined to one thread.
@safe package final class JSONReader {
    package let limits: JSONLimits
    private let parser: OpaquePointer
    private let document: UnsafeMutablePointer<JSONDocument>

    package init(limits: JSONLimits = .record) {
        guard let parser = unsafe json_parser_create() else { preconditionFailure("out of memory") }
        self.limits = limits
        unsafe self.parser = parser
        unsafe document = .allocate(capacity: 1)
        unsafe document.initialize(to: JSONDocument())
    }

    deinit {
        unsafe json_parser_destroy(parser)
        unsafe document.deinitialize(count: 1)
        unsafe document.deallocate()
    }

    /// Copies and checks `bytes`, and returns the result of `decode` for the root value. If there were
    /// problems, throws all of them at once.
    ///
    /// An accessor that does not find the expected value reports a problem and returns a placeholder, such as
    /// 0. So `decode` must only build a result and must not act on it. Each `JSONValue`, and the bytes of its
    /// `raw` and `utf8`, are invalid after the call.
    @inlinable
    package func read<T>(
        _ bytes: UnsafeRawBufferPointer, decode: (JSONValue) -> T
    ) throws(JSONError) -> T {
        let value = decode(try unsafe begin(bytes))
        if let error { throw error }
        return value
    }

    @inlinable
    package func read<T>(_ bytes: [UInt8], decode: (JSONValue) -> T) throws(JSONError) -> T {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(JSONError) in
            try unsafe read(bytes, decode: decode)
        }
    }

    /// Reads a document without a closure, and returns the root value, which is valid until the next read.
    /// The caller checks `error` after decoding.
    package func begin(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        try unsafe parse(bytes)
        return unsafe JSONValue(document: document, node: 0)
    }

    /// The problems that were reported since the document was read, or nil.
    package var error: JSONError? {
        if unsafe document.pointee.problems.isEmpty { return nil }
        return unsafe JSONError(
            problems: document.pointee.problems, unlistedCount: document.pointee.unlistedCount)
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        unsafe document.pointee.generation &+= 1
        if unsafe !document.pointee.problems.isEmpty { unsafe document.pointee.problems.removeAll() }
        unsafe document.pointee.unlistedCount = 0
        unsafe document.pointee.problemsMax = limits.problemsMax
        guard bytes.count <= limits.bytesMax else {
            let message = "has \(bytes.count) bytes, \(limits.bytesMax) are allowed"
            throw JSONError(problems: [JSONProblem(path: "", code: .tooLarge, message: message)])
        }
        let parserLimits = json_limits(depth_max: UInt32(limits.depthMax), keys_max: UInt32(limits.keysMax))
        let fault = unsafe json_parser_read(
            parser, bytes.baseAddress, bytes.count, parserLimits, &document.pointee.index)
        if fault != JSON_OK {
            let offset = unsafe Int(document.pointee.index.fault_offset)
            throw unsafe JSONError(problems: [
                JSONFault(fault: fault, offset: offset, limits: limits).problem(in: bytes)
            ])
        }
    }
}

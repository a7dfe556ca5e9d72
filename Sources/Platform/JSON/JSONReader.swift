internal import CSimdJSON

/// A reader of JSON documents, one after the other. It checks each document completely, then a closure takes
/// the fields that it needs. It builds no tree, and it allocates nothing per document after the buffers have
/// grown.
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

    /// Checks `bytes`, which are copied, and returns the result of `decode` for the root value. If there were
    /// problems, throws all of them at once.
    ///
    /// An accessor that does not find the expected value notes a problem and returns a placeholder. So
    /// `decode` must
    /// only build a value and must not act on it. Values, `raw` and `utf8` are invalid after the call.
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

    /// Starts a read without a closure. The root value is valid until the next read. Check `error` after
    /// decoding.
    package func begin(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        try unsafe parse(bytes)
        return unsafe JSONValue(document: document, node: 0)
    }

    /// All problems of the decoding, or nil.
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
        let limit = json_limits(depth_max: UInt32(limits.depthMax), keys_max: UInt32(limits.keysMax))
        let fault = unsafe json_parser_read(
            parser, bytes.baseAddress, bytes.count, limit, &document.pointee.index)
        if fault != JSON_OK {
            let offset = unsafe Int(document.pointee.index.fault_offset)
            throw unsafe JSONError(problems: [
                JSONFault(fault: fault, offset: offset, limits: limits).problem(in: bytes)
            ])
        }
    }
}

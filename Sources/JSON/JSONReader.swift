internal import CSimdJSON

/// Reads JSON documents one after the other: checks each completely, then lets a closure take out
/// field by field what it needs. No tree is built and, once the buffers have grown to the usual
/// size, nothing is allocated per document.
///
/// It is strict wherever it looks, and it looks everywhere, also into values that are only passed
/// on: UTF-8, the grammar, depth, 64-bit numbers, and no name twice in an object, however escaped.
/// So two programs that read the same bytes cannot understand different things.
///
/// Owned and pinned to one thread.
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

    /// Checks `bytes`, which are copied, and returns what `decode` made of the root value, unless
    /// something was wrong: then everything that was wrong is thrown at once.
    ///
    /// An accessor that does not find what it wants notes a problem and returns a placeholder, so
    /// `decode` only builds a value: it must not act on one, because it may never have been there.
    /// Values must not be kept beyond the call; `raw` and `utf8` neither.
    @inlinable
    package func read<T>(
        _ bytes: UnsafeRawBufferPointer, _ decode: (JSONValue) -> T
    ) throws(JSONError) -> T {
        let value = decode(try unsafe begin(bytes))
        if let error { throw error }
        return value
    }

    @inlinable
    package func read<T>(_ bytes: [UInt8], _ decode: (JSONValue) -> T) throws(JSONError) -> T {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(JSONError) in try unsafe read(bytes, decode) }
    }

    /// `read` in two steps, for what would lose by a closure: the root value, good until `error` was asked for.
    package func begin(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        try unsafe check(bytes)
        return unsafe JSONValue(document: document, node: 0)
    }

    /// Everything that was wrong with what was taken out, or nil.
    package var error: JSONError? {
        if unsafe document.pointee.problems.isEmpty { return nil }
        return unsafe JSONError(problems: document.pointee.problems, unlisted: document.pointee.unlisted)
    }

    private func check(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        unsafe document.pointee.generation &+= 1
        if unsafe !document.pointee.problems.isEmpty { unsafe document.pointee.problems.removeAll() }
        unsafe document.pointee.unlisted = 0
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

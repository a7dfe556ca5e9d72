/// How one request ended. A plain value; its bytes lie in the batch it came with.
package struct RequestOutcome: Sendable {
    /// What `submit` was given.
    package let tag: UInt64
    package let end: End
    /// The answer's status, 0 when there was none.
    package let status: UInt16
    /// Why the stream was reset, `.noError` otherwise.
    package let code: ErrorCode
    /// True when the whole request may have left this process. APNs acts on no request without its end.
    package let hasLeft: Bool
    /// The second and last word on a request that had already been reported as `overdue` or `cancelled`:
    /// its answer, or `released`.
    package let isLate: Bool
    /// The body was longer than `bodyBytesMax`.
    package let bodyIsCut: Bool
    package let fields: Range<Int>
    package let body: Range<Int>

    package enum End: UInt8, Sendable {
        /// A complete answer came, whatever its status.
        case answered
        /// Not sent to its end, or above the last stream of a GOAWAY: surely not processed, safe to send again.
        case notProcessed
        /// REFUSED_STREAM: surely not processed, safe to send again.
        case refused
        /// RST_STREAM with `code`, the peer's or, after a malformed answer, ours.
        case reset
        /// The connection ended without an answer.
        case connectionLost
        /// The deadline passed.
        case overdue
        /// The owner gave it up.
        case cancelled
        /// The stream of a request that was `overdue` or `cancelled` has closed without an answer: its slot is
        /// free, and nothing more comes of it.
        case released
    }

    /// The only question before sending again: false means that the peer surely did nothing.
    package var mayHaveBeenProcessed: Bool { hasLeft && end != .notProcessed && end != .refused }
}

/// What ended since the batch was last emptied. Its memory is used again: copy what is to be kept.
package struct OutcomeBatch {
    package private(set) var outcomes: [RequestOutcome] = []
    package private(set) var bytes: [UInt8] = []

    package func fields(of outcome: RequestOutcome) -> HeaderFields {
        HeaderFields(bytes: bytes, range: outcome.fields)
    }

    package func body(of outcome: RequestOutcome) -> ArraySlice<UInt8> { bytes[outcome.body] }

    mutating func removeAll() {
        outcomes.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    /// By pointer: a slot passed by value would be copied, and its references counted.
    mutating func append(
        _ slot: UnsafeMutablePointer<RequestSlot>, _ end: RequestOutcome.End, code: ErrorCode, hasLeft: Bool
    ) {
        let start = bytes.count
        let isAnswer = end == .answered
        if unsafe isAnswer && slot.pointee.bytes.count > 0 {
            unsafe bytes.append(contentsOf: slot.pointee.bytes.bytes)
        }
        let fieldBytes = unsafe isAnswer ? slot.pointee.fieldBytes : 0
        outcomes.append(
            RequestOutcome(
                tag: unsafe slot.pointee.tag, end: end, status: unsafe isAnswer ? slot.pointee.status : 0,
                code: code, hasLeft: hasLeft, isLate: unsafe slot.pointee.isReported,
                bodyIsCut: unsafe slot.pointee.bodyIsCut, fields: start..<start + fieldBytes,
                body: start + fieldBytes..<bytes.count))
    }
}

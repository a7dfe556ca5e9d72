/// The result of one request. Its header fields and its body are in the `OutcomeBatch`.
package struct RequestOutcome: Sendable {
    /// The tag that was passed to `submit`.
    package let tag: UInt64
    package let endReason: EndReason
    /// The answer's status, 0 without an answer.
    package let status: UInt16
    /// The error code of RST_STREAM, or `.refusedStream` if a GOAWAY says that the request was not processed.
    /// Otherwise `.noError`.
    package let code: HTTP2ErrorCode
    /// Whether the whole request was handed to the caller of `pull`, so that the peer may have it. APNs does
    /// not act on an incomplete request.
    package let mayHaveBeenSent: Bool
    /// Whether this is the second and final outcome of a request that was reported as `overdue` or
    /// `cancelled`: its answer, or `released`.
    package let isLate: Bool
    /// Whether the body was longer than `bodyBytesMax`.
    package let isBodyTruncated: Bool
    /// The kept header fields, as a range of the batch's bytes.
    package let fields: Range<Int>
    /// The body, as a range of the batch's bytes.
    package let body: Range<Int>

    package enum EndReason: UInt8, Sendable {
        /// A complete answer arrived, with any status.
        case answered
        /// The request was not fully sent, or its stream is above the last one of a GOAWAY. It was not processed and can
        /// be sent again.
        case notProcessed
        /// The peer sent REFUSED_STREAM. The request was not processed and can be sent again.
        case refused
        /// RST_STREAM with `code`, sent by the peer or, after a malformed answer, by this side.
        case reset
        /// The connection ended without an answer.
        case connectionLost
        /// The deadline has passed.
        case overdue
        /// The owner cancelled the request.
        case cancelled
        /// The stream of an `overdue` or `cancelled` request has closed without an answer. Its slot is free,
        /// and no further outcome follows.
        case released
    }

    /// Whether the peer may have processed the request. If false, it can be sent again safely.
    package var mayHaveBeenProcessed: Bool {
        mayHaveBeenSent && endReason != .notProcessed && endReason != .refused
    }
}

/// The outcomes of a session since its owner has cleared them. The memory is reused, so copy the bytes that
/// you keep.
package struct OutcomeBatch {
    package private(set) var outcomes: [RequestOutcome] = []
    /// The header fields (`HeaderFields`) and the body of each outcome, one after the other.
    package private(set) var bytes: [UInt8] = []

    package func fields(of outcome: RequestOutcome) -> HeaderFields {
        HeaderFields(bytes: bytes, range: outcome.fields)
    }

    package func body(of outcome: RequestOutcome) -> ArraySlice<UInt8> { bytes[outcome.body] }

    mutating func removeAll() {
        outcomes.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    /// Appends the outcome of the request in a slot. It takes a pointer, because passing a slot by value
    /// would copy it and count its references.
    mutating func append(
        _ slot: UnsafeMutablePointer<RequestSlot>, endReason: RequestOutcome.EndReason,
        code: HTTP2ErrorCode, mayHaveBeenSent: Bool
    ) {
        let start = bytes.count
        let isAnswer = endReason == .answered
        if unsafe isAnswer && slot.pointee.buffer.count > 0 {
            unsafe bytes.append(contentsOf: slot.pointee.buffer.bytes)
        }
        let fieldBytes = unsafe isAnswer ? slot.pointee.fieldBytes : 0
        outcomes.append(
            RequestOutcome(
                tag: unsafe slot.pointee.tag, endReason: endReason,
                status: unsafe isAnswer ? slot.pointee.status : 0,
                code: code, mayHaveBeenSent: mayHaveBeenSent, isLate: unsafe slot.pointee.isReported,
                isBodyTruncated: unsafe slot.pointee.isBodyTruncated, fields: start..<start + fieldBytes,
                body: start + fieldBytes..<bytes.count))
    }
}

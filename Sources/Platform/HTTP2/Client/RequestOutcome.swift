/// The end of one request. Its bytes are stored in its batch.
package struct RequestOutcome: Sendable {
    /// The tag that was passed to `submit`.
    package let tag: UInt64
    package let endReason: EndReason
    /// The answer's status, 0 without an answer.
    package let status: UInt16
    /// The code of the reset, `.noError` if the stream was not reset.
    package let code: HTTP2ErrorCode
    /// Whether the whole request may have left this process. APNs does not act on an incomplete request.
    package let mayHaveBeenSent: Bool
    /// Whether this is the second and final outcome of a request that was reported as `overdue` or
    /// `cancelled`: its answer, or `released`.
    package let isLate: Bool
    /// Whether the body was longer than `bodyBytesMax`.
    package let isBodyTruncated: Bool
    package let fields: Range<Int>
    package let body: Range<Int>

    package enum EndReason: UInt8, Sendable {
        /// A complete answer arrived, with any status.
        case answered
        /// Not fully sent, or above the last stream of a GOAWAY. It was not processed and can be sent again.
        case notProcessed
        /// REFUSED_STREAM. It was not processed and can be sent again.
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

/// The outcomes since the batch was last emptied. Its memory is reused: copy the values that you keep.
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

    /// Takes a pointer, because passing a slot by value would copy it and count its references.
    mutating func append(
        _ slot: UnsafeMutablePointer<RequestSlot>, endReason end: RequestOutcome.EndReason,
        code: HTTP2ErrorCode, mayHaveBeenSent: Bool
    ) {
        let start = bytes.count
        let isAnswer = end == .answered
        if unsafe isAnswer && slot.pointee.bytes.count > 0 {
            unsafe bytes.append(contentsOf: slot.pointee.bytes.bytes)
        }
        let fieldBytes = unsafe isAnswer ? slot.pointee.fieldBytes : 0
        outcomes.append(
            RequestOutcome(
                tag: unsafe slot.pointee.tag, endReason: end,
                status: unsafe isAnswer ? slot.pointee.status : 0,
                code: code, mayHaveBeenSent: mayHaveBeenSent, isLate: unsafe slot.pointee.isReported,
                isBodyTruncated: unsafe slot.pointee.isBodyTruncated, fields: start..<start + fieldBytes,
                body: start + fieldBytes..<bytes.count))
    }
}

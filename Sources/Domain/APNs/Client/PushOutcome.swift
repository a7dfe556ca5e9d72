/// The end of one push. An answer other than a plain 200 has details in the same `PushOutcomes`.
package struct PushOutcome: Sendable {
    /// The tag that was passed to `push`.
    package let tag: UInt64
    package let end: PushEnd
    /// Whether this is the final outcome of a push that was reported as `unknown(.overdue)` before. Each such push has
    /// exactly one: the late answer, or `unknown(.overdue)` again if no answer can arrive any more. Only then the push
    /// is no longer in flight.
    package let isLate: Bool
    /// HTTP status of the answer, 0 without an answer.
    package let status: UInt16
    /// The disposition of the answer. Nil without an answer.
    package let disposition: ResponseDisposition?
    /// The index of the details in `PushOutcomes`, or -1 without details.
    let details: Int32
}

/// The content of an answer other than a plain 200.
package struct PushDetails: Sendable {
    package let response: APNsResponse
    /// Seconds that the answer asks to wait. Apple documents no such header.
    package let retryAfterSeconds: Int?
    /// `apns-unique-id`, which the sandbox and broadcasts return.
    package let uniqueID: String?
    /// `apns-channel-id` of a created channel.
    package let channelID: String?
    package let body: [UInt8]
}

/// The outcomes of one iteration of a client's loop. The value is valid only during the call of the receiver:
/// copy what you keep.
package struct PushOutcomes {
    package private(set) var list: [PushOutcome] = []
    /// The details of the outcomes that have some. `PushOutcome.details` is the index.
    private var details: [PushDetails] = []

    /// Returns the details of an outcome, or nil for a plain 200 and for an end without an answer.
    package func details(of outcome: PushOutcome) -> PushDetails? {
        outcome.details < 0 ? nil : details[Int(outcome.details)]
    }

    var isEmpty: Bool { list.isEmpty }

    /// Appends an end without an answer.
    mutating func append(tag: UInt64, end: PushEnd, isLate: Bool) {
        list.append(
            PushOutcome(tag: tag, end: end, isLate: isLate, status: 0, disposition: nil, details: -1))
    }

    /// Appends a plain 200.
    mutating func appendAccepted(tag: UInt64, isLate: Bool) {
        list.append(
            PushOutcome(
                tag: tag, end: .answered, isLate: isLate, status: 200, disposition: .accepted, details: -1))
    }

    /// Appends an answer other than a plain 200.
    mutating func append(tag: UInt64, details: PushDetails, isLate: Bool) {
        list.append(
            PushOutcome(
                tag: tag, end: .answered, isLate: isLate,
                status: UInt16(clamping: details.response.status), disposition: details.response.disposition,
                details: Int32(self.details.count)))
        self.details.append(details)
    }

    mutating func removeAll() {
        list.removeAll(keepingCapacity: true)
        details.removeAll(keepingCapacity: true)
    }
}

/// The receiver of a client's outcomes.
package protocol PushReceiver: AnyObject {
    /// Receives the outcomes of this iteration, on the loop. It may push at once.
    func receive(_ outcomes: PushOutcomes)
}

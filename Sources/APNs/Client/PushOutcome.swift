/// How one push ended. A plain value; what APNs said beyond "accepted" lies in the batch it came with.
package struct PushOutcome: Sendable {
    /// What `push` was given.
    package let tag: UInt64
    package let end: PushEnd
    /// The last word on a push that was told as `unknown(.overdue)` before, and there is one for each: its
    /// answer, so that it is known now – or `unknown(.overdue)` again, when no answer will come any more.
    /// With either the push is off the wire, and its token free. If it was sent again meanwhile, it was
    /// perhaps sent twice.
    package let isLate: Bool
    /// 0 without an answer.
    package let status: UInt16
    /// What the answer asks for; nil without one.
    package let disposition: Disposition?
    let details: Int32
}

/// What APNs said beyond a plain 200.
package struct PushDetails: Sendable {
    package let answer: Answer
    /// Seconds that the answer asks to wait; Apple documents none.
    package let retryAfterSeconds: Int?
    /// `apns-unique-id`, in the sandbox and for broadcasts.
    package let uniqueID: String?
    /// `apns-channel-id`, of a channel that was created.
    package let channelID: String?
    package let body: [UInt8]
}

/// What ended in one turn of a client. Lent for one call: copy what is to be kept.
package struct PushOutcomes {
    package private(set) var list: [PushOutcome] = []
    private var details: [PushDetails] = []

    package func details(of outcome: PushOutcome) -> PushDetails? {
        outcome.details < 0 ? nil : details[Int(outcome.details)]
    }

    var isEmpty: Bool { list.isEmpty }

    mutating func append(tag: UInt64, _ end: PushEnd, isLate: Bool) {
        list.append(
            PushOutcome(tag: tag, end: end, isLate: isLate, status: 0, disposition: nil, details: -1))
    }

    mutating func appendAccepted(tag: UInt64, isLate: Bool) {
        list.append(
            PushOutcome(
                tag: tag, end: .answered, isLate: isLate, status: 200, disposition: .accepted, details: -1))
    }

    mutating func append(tag: UInt64, _ details: PushDetails, isLate: Bool) {
        list.append(
            PushOutcome(
                tag: tag, end: .answered, isLate: isLate,
                status: UInt16(clamping: details.answer.status), disposition: details.answer.disposition,
                details: Int32(self.details.count)))
        self.details.append(details)
    }

    mutating func removeAll() {
        list.removeAll(keepingCapacity: true)
        details.removeAll(keepingCapacity: true)
    }
}

/// Who pushes.
package protocol PushReceiver: AnyObject {
    /// What ended in this turn of the loop, on the loop. It may push more at once.
    func ended(_ outcomes: PushOutcomes)
}

/// Names one push of one client, to take it back. Stale once the push has ended.
package struct PushHandle: Hashable, Sendable {
    /// Its number in the client.
    let pool: Int32
    let ticket: PoolTicket
}

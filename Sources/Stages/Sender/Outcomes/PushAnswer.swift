package import APNs

/// The end of a push, as the loop reports it to the plan: an answer of APNs, or the reason why none came.
package struct PushAnswer: Sendable, Hashable {
    package var end: PushEnd

    // MARK: The answer of APNs; nil if it did not answer

    package var status: Int?
    package var reason: String?
    package var disposition: ResponseDisposition?
    /// The time since which the token is dead, in milliseconds since 1970, if APNs gives one.
    package var timestamp: Int64?
    package var retryAfterSeconds: Int?

    /// Whether this is the final answer to a push that was reported as overdue before.
    package var isLate: Bool

    /// The end of a push without an answer of APNs.
    package init(_ end: PushEnd, isLate: Bool = false) {
        self.end = end
        self.isLate = isLate
    }

    package init(
        answered disposition: ResponseDisposition, status: Int, reason: String? = nil,
        timestamp: Int64? = nil,
        retryAfterSeconds: Int? = nil, isLate: Bool = false
    ) {
        end = .answered
        self.status = status
        self.reason = reason
        self.disposition = disposition
        self.timestamp = timestamp
        self.retryAfterSeconds = retryAfterSeconds
        self.isLate = isLate
    }

    /// The reason as one word, for receipts and headers: of APNs, or of the connections if APNs did not answer.
    var reasonCode: String? {
        switch end {
        case .answered: reason ?? disposition.map(\.rawValue)
        case .notProcessed(let fault), .unknown(let fault): fault.rawValue
        case .withdrawn: nil
        }
    }
}

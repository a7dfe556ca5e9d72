package import APNs

/// How a push ended, as the core is told it.
package struct PushAnswer: Sendable, Hashable {
    package var end: PushEnd
    /// What APNs said; nil where it did not answer.
    package var status: Int?
    package var reason: String?
    package var disposition: Disposition?
    /// Milliseconds since 1970: since when the token is dead, where APNs says it.
    package var timestamp: Int64?
    package var retryAfterSeconds: Int?
    /// The last word on a push that was told as unknown before.
    package var isLate: Bool

    package init(_ end: PushEnd, isLate: Bool = false) {
        self.end = end
        self.isLate = isLate
    }

    package init(
        answered disposition: Disposition, status: Int, reason: String? = nil, timestamp: Int64? = nil,
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

    /// In a word, for receipts and headers.
    var word: String? {
        switch end {
        case .answered: reason ?? disposition.map(\.rawValue)
        case .notProcessed(let fault), .unknown(let fault): fault.rawValue
        case .withdrawn: nil
        }
    }
}

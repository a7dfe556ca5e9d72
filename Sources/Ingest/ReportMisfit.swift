/// Why a report cannot be used; its record goes to the dead letters with this.
package struct ReportMisfit: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The server's time on the record lies ahead of ours.
        case receivedInFuture = "received_in_future"
        /// It was received so long ago that nothing can be said of its order any more.
        case tooOld = "too_old"
        /// The app does not use that environment.
        case environmentNotAllowed = "environment_not_allowed"
        /// A part is missing that its kind cannot do without.
        case incomplete
        case badToken = "bad_token"
        /// The token is sealed, and does not open with the keys of this process.
        case sealedToken = "sealed_token"
    }

    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

/// The reason for which a report is rejected. The report's dead letter contains it.
package struct RejectedReport: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The stamp of the record is too far ahead of the time for decisions.
        case receivedInFuture = "received_in_future"
        /// The record is so old that its order is unknown.
        case tooOld = "too_old"
        /// The app does not use this environment.
        case environmentNotAllowed = "environment_not_allowed"
        /// A field is missing that this kind of report requires.
        case incomplete
        /// The token does not have the form of a push token.
        case badToken = "bad_token"
        /// The token is sealed for another row, or with a key that this process does not have.
        case sealedToken = "sealed_token"
    }

    package let code: Code
    package let description: String
}

extension RejectedReport {
    static func missing(field: String) -> RejectedReport {
        RejectedReport(code: .incomplete, description: "\(field) is missing; this kind of report requires it")
    }
}

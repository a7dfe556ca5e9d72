/// The reason why a channel request failed.
package enum ChannelError: Error, Sendable, CustomStringConvertible {
    /// APNs refused the request. The answer's disposition decides the next step.
    case refused(APNsResponse)
    /// APNs did not answer. The `PushEnd` says whether APNs may have processed the request.
    case unanswered(PushEnd)
    /// The client did not take the request.
    case notAccepted(PushRefusal)
    /// The bundle id or channel id has characters that a request cannot contain.
    case invalidIdentifier
    /// The answer could not be parsed.
    case malformedResponse

    package var description: String {
        switch self {
        case .refused(let answer):
            "apns refused this with status \(answer.status)\(answer.reasonText.map { " (\($0))" } ?? "")"
        case .unanswered(.unknown):
            "apns did not answer and may have processed the request; list the channels before you try again"
        case .unanswered: "apns could not be reached; try again"
        case .notAccepted(.full): "too many channel requests are open; try again later"
        case .notAccepted(.stopped): "this process is stopping; try again after it has restarted"
        case .notAccepted(.noProviderKey): "no key file exists for the app's team id and key id; add the file"
        case .invalidIdentifier:
            "the bundle id or channel id has characters that cannot be sent; correct the id"
        case .malformedResponse: "the answer of apns could not be parsed; check apple's status page"
        }
    }
}

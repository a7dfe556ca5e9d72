/// Why a request about channels came to nothing.
package enum ChannelProblem: Error, Sendable, CustomStringConvertible {
    /// APNs said no: the answer's disposition says what now.
    case refused(Answer)
    /// There was no answer; whether it was done is said by the end.
    case unanswered(PushEnd)
    /// The request was not even begun.
    case notTaken(PushRefusal)
    /// The bundle id or the channel id cannot stand in a request.
    case badName
    /// The answer could not be read.
    case unreadable

    package var description: String {
        switch self {
        case .refused(let answer):
            "apns refuses with status \(answer.status)\(answer.reasonText.map { " (\($0))" } ?? "")"
        case .unanswered(.unknown):
            "apns did not answer, and may have done it; list the channels before you try again"
        case .unanswered: "apns could not be reached; try again"
        case .notTaken(.full): "too many requests about channels are open; try again later"
        case .notTaken(.stopped): "this process is stopping; try again when it runs"
        case .notTaken(.noProviderKey): "there is no key file for the app's team and key id; put it there"
        case .badName: "bundle id or channel id has characters that cannot be sent; correct it"
        case .unreadable: "the answer of apns could not be understood; look at its status page"
        }
    }
}

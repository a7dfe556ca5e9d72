internal import APNs
internal import HTTP2

/// A validated request that waits for its answer: the verdict of its checks, and the facts that the answer
/// needs.
struct Exchange {
    let stream: ServerStreamID
    /// The fault that replaces the correct answer.
    let requestFault: InjectedFault.RequestFault?
    let verdict: RequestVerdict
    let kind: RequestFacts.RequestKind
    /// Whether it is a push to one device token, so that the answer has an `apns-id` and not an
    /// `apns-request-id`.
    let isPushToToken: Bool
    /// Whether the answer has no body, because the method was HEAD.
    let omitsBody: Bool
    /// Id of the answer: the request's own id, or a new one if it has none or an invalid one.
    let id: PushID
    /// The entry for the journal. Nil without a journal.
    let entry: JournalEntry?
}

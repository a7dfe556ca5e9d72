internal import APNs
internal import HTTP2

/// A validated request that is answered now or after a delay.
struct Exchange {
    let stream: ServerStreamID
    let requestFault: InjectedFault.RequestFault
    let verdict: RequestVerdict
    let kind: RequestFacts.RequestKind
    /// Whether it is a push to one device token, so that the answer has an `apns-id` and not an
    /// `apns-request-id`.
    let isDirect: Bool
    /// Whether the answer has no body, because the method was HEAD.
    let omitsBody: Bool
    /// Id of the answer: the request's own id if it is valid.
    let id: PushID
    /// The entry for the journal. Nil without a journal.
    let entry: JournalEntry?
}

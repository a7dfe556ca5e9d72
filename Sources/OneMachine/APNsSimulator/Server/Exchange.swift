internal import APNs
internal import HTTP2

/// One request between its verdict and its end.
struct Exchange {
    let stream: ServerStream
    let course: Ruling.Course
    let verdict: Verdict
    let kind: RequestFacts.Kind
    /// Whether the answer has an apns-id and not an apns-request-id.
    let isDirect: Bool
    /// Whether the answer has no body, because the method was HEAD.
    let isBodiless: Bool
    /// Id of the answer: the request's own id if it is valid.
    let id: PushID
    /// The entry for the journal. Nil without a journal.
    let entry: JournalEntry?
}

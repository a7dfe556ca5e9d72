internal import APNs
internal import HTTP2

/// One request between its verdict and its end.
struct Exchange {
    let stream: ServerStream
    let course: Ruling.Course
    let verdict: Verdict
    let kind: RequestFacts.Kind
    /// Answered with apns-id and not with apns-request-id.
    let isDirect: Bool
    /// Answered without a body, whatever it is: the method was HEAD.
    let isBodiless: Bool
    /// Of the answer: the request's own where it brought a good one.
    let id: PushID
    /// What the journal is told in the end; nil where nobody keeps one.
    let entry: JournalEntry?
}

internal import JSON

/// The progress of a send, reduced to the fields that the demonstration needs.
struct DemonstrationProgress {
    let isComplete: Bool
    let verdict: String
    /// The number of phones that the send is for.
    let targeted: Int

    init(from response: JSONValue) {
        let members = response.object()
        isComplete = members["isComplete"].bool()
        verdict = members["verdict"].string()
        targeted = members["targeted"].int(in: 0...Int.max)
    }
}

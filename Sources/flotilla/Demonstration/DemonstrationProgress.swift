internal import JSON

/// How far a send is, as far as the demonstration asks.
struct DemonstrationProgress {
    let isComplete: Bool
    let verdict: String
    /// Phones that it is for.
    let targeted: Int

    init(_ answer: JSONValue) {
        let members = answer.object()
        isComplete = members["isComplete"].bool()
        verdict = members["verdict"].string()
        targeted = members["targeted"].int(in: 0...Int.max)
    }
}

internal import APNsSimulator
internal import JSON

extension GroupScreens {
    /// The counts by state: `940 × {"home":1,"away":0}`.
    var summary: String {
        shownStates.map { "\($0.activities) × \(Self.text(of: $0))" }.joined(separator: ", ")
    }

    /// Returns the number of activities that show this state.
    func count(of state: String) -> Int {
        shownStates.reduce(0) { $0 + (Self.text(of: $1) == state ? $1.activities : 0) }
    }

    private static func text(of shown: ShownState) -> String {
        shown.contentState.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "nothing"
    }
}

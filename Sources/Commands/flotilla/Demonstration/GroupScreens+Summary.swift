internal import APNsSimulator
internal import JSON

extension GroupScreens {
    /// The numbers of activities by the content state that they show: `940 × {"home":1,"away":0}`.
    var summary: String {
        shownStates.map { "\($0.activities) × \(Self.text(of: $0))" }.joined(separator: ", ")
    }

    /// Returns the number of activities that show this state.
    func count(of state: String) -> Int {
        shownStates.filter { Self.text(of: $0) == state }.reduce(0) { $0 + $1.activities }
    }

    private static func text(of shownState: ShownState) -> String {
        shownState.contentState.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "nothing"
    }
}

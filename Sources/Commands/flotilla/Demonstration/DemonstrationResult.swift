internal import APNsSimulator

/// The measurements of the demonstration and the text that it prints.
struct DemonstrationResult {
    /// The addresses and the key that the text shows.
    struct ConnectionDetails {
        let gateway: String
        let broker: String
        let simulator: String
        let control: String
        let data: String
        /// The API key that posts sends.
        let key: String
    }

    let group: String
    /// The number of phones that run an iOS that can be started by a push.
    var startableCount = 0
    /// The time until a send counts all of these phones.
    var reportSeconds = 0.0
    /// The number of phones that showed the start.
    var startedCount = 0
    /// The time until the last lock screen showed the start.
    var startSeconds = 0.0
    /// The time until the last lock screen showed the update.
    var updateSeconds = 0.0
    /// The newest lock screens of the group.
    var screens: GroupScreens?
    /// Parts of the installation that are not ready or reported an error, a line for each.
    var problems: [String] = []

    init(group: String) { self.group = group }

    /// Returns the number of activities whose lock screen shows this state.
    func count(of state: String) -> Int { screens?.count(of: state) ?? 0 }

    /// A sentence about the missing phones, or nil if each phone that can be started shows the goal.
    var shortfall: String? {
        let haveAllStarted = startableCount > 0 && startedCount == startableCount
        let doAllShowGoal =
            screens?.activities == startableCount
            && count(of: DemonstrationMatch.goalState) == startableCount
        if haveAllStarted, doAllShowGoal { return nil }
        return """
            the demonstration did not reach its goal: of \(startableCount) phones that can be started, \(startedCount) showed \
            the start and \(count(of: DemonstrationMatch.goalState)) the update; the lock screens show \(screenSummary)
            """
    }

    /// Returns the result, and commands to try by hand.
    func text(for connection: ConnectionDetails) -> String {
        // The name differs from the first match, because a phone that was started for a group is not started
        // again.
        let match = DemonstrationMatch(group: "my-" + group)
        let sends = "curl -s http://\(connection.gateway)/v1/sends -H \"Authorization: Bearer $KEY\""
        return """

            \(heading): its gateway at http://\(connection.gateway), Kafka at \(connection.broker), its data in \(connection.data),
            and \(DemonstrationApp.phoneCount) simulated phones behind a simulated APNs at https://\(connection.simulator).
            \(problemParagraph)
              reported   \(DemonstrationApp.phoneCount) phones to the gateway; \(startableCount) of them run an iOS that can be started, known after \(formatted(seconds: reportSeconds))
              started    \(startedCount) activities of \(group) at 0:0; the last lock screen showed it after \(formatted(seconds: startSeconds))
              updated    all to 1:0 in \(formatted(seconds: updateSeconds)); the lock screens show \(screenSummary)

            Your turn, in a second terminal: a match for everyone, a goal, and what a phone shows.

            KEY=\(connection.key)
            \(sends) -d '\(match.start())'
            \(sends) -d '\(match.update)'
            curl -s http://\(connection.control)/v1/phones/phone-0

            The console is at http://\(connection.gateway)/console; log in with the key above.

            Ctrl-C stops it; what was acknowledged is there at the next start. From here on, what the phones show:

            """
    }

    private var heading: String {
        problems.isEmpty ? "Flotilla is up" : "Flotilla runs, but not every part works"
    }

    /// The problems as a paragraph, or an empty text.
    private var problemParagraph: String {
        if problems.isEmpty { return "" }
        return """

            These parts need attention; the log above has the details and `/readyz` the current state:
            \(problems.map { "  " + $0 }.joined(separator: "\n"))

            """
    }

    /// Returns the time with two decimals: `1.25 s`.
    private func formatted(seconds: Double) -> String { "\((seconds * 100).rounded() / 100) s" }

    private var screenSummary: String { screens?.summary ?? "nothing" }
}

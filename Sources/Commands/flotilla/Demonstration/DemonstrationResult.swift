internal import APNsSimulator

/// The measurements of the demonstration and the text that it prints.
struct DemonstrationResult {
    struct Installation {
        let gateway: String
        let broker: String
        let simulator: String
        let control: String
        let data: String
        /// The API key that posts sends.
        let key: String
    }

    let group: String
    var startable = 0
    var reportSeconds = 0.0
    var started = 0
    var startSeconds = 0.0
    var updateSeconds = 0.0
    var screens: GroupScreens?
    /// Parts of the installation that are not ready or reported an error, a line for each.
    var problems: [String] = []

    init(group: String) { self.group = group }

    /// Returns the number of activities whose lock screen shows this state.
    func count(of state: String) -> Int { screens?.count(of: state) ?? 0 }

    /// A sentence about the missing phones, or nil if each phone that can be started shows the goal.
    var shortfall: String? {
        let isReached =
            startable > 0 && started == startable && screens?.activities == startable
            && count(of: DemonstrationMatch.goal) == startable
        if isReached { return nil }
        return """
            the demonstration did not reach its goal: of \(startable) phones that can be started, \(started) showed \
            the start and \(count(of: DemonstrationMatch.goal)) the update; the lock screens show \(shown)
            """
    }

    func text(_ installation: Installation) -> String {
        // The name differs from the first match, because a phone that was started for a group is not started
        // again.
        let match = DemonstrationMatch(group: "my-" + group)
        let sends = "curl -s http://\(installation.gateway)/v1/sends -H \"Authorization: Bearer $KEY\""
        return """

            \(heading): its gateway at http://\(installation.gateway), Kafka at \(installation.broker), its data in \(installation.data),
            and \(DemonstrationApp.phones) simulated phones behind a simulated APNs at https://\(installation.simulator).
            \(problemLines)
              reported   \(DemonstrationApp.phones) phones to the gateway; \(startable) of them run an iOS that can be started, known after \(seconds(reportSeconds))
              started    \(started) activities of \(group) at 0:0; the last lock screen showed it after \(seconds(startSeconds))
              updated    all to 1:0 in \(seconds(updateSeconds)); the lock screens show \(shown)

            Your turn, in a second terminal: a match for everyone, a goal, and what a phone shows.

            KEY=\(installation.key)
            \(sends) -d '\(match.start())'
            \(sends) -d '\(match.update)'
            curl -s http://\(installation.control)/v1/phones/phone-0

            Ctrl-C stops it; what was acknowledged is there at the next start. From here on, what the phones show:

            """
    }

    private var heading: String {
        problems.isEmpty ? "Flotilla is up" : "Flotilla runs, but not every part works"
    }

    /// The problems as a paragraph, or an empty text.
    private var problemLines: String {
        if problems.isEmpty { return "" }
        return """

            These parts need attention; the log above has the details and `/readyz` the present state:
            \(problems.map { "  " + $0 }.joined(separator: "\n"))

            """
    }

    private func seconds(_ value: Double) -> String { "\((value * 100).rounded() / 100) s" }

    private var shown: String { screens?.summary ?? "nothing" }
}

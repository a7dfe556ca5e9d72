internal import APNsSimulator
internal import JSON
internal import LiveActivity

/// What the demonstration has seen, in the words that it prints.
struct DemonstrationResult {
    struct Installation {
        let gateway: String
        let broker: String
        let simulator: String
        let control: String
        let admin: String
        let data: String
    }

    let group: String
    var startable = 0
    var reportSeconds = 0.0
    var started = 0
    var startSeconds = 0.0
    var updated = 0
    var updateSeconds = 0.0
    var screens: GroupView?

    init(group: String) { self.group = group }

    /// What is missing where not every phone that can be started shows the goal.
    var shortfall: String? {
        let isReached =
            started == startable && updated == startable && startable > 0
            && screens?.states == 1 && screens?.shown.first?.contentState == Self.goal
            && screens?.activities == startable
        if isReached { return nil }
        return """
            the demonstration did not reach its goal: of \(startable) phones that can be started, \(started) \
            starts and \(updated) updates were accepted; the lock screens show \(shown)
            """
    }

    func text(_ installation: Installation) -> String {
        """

        Flotilla is up: its gateway at http://\(installation.gateway), Kafka at \(installation.broker), its data in \(installation.data),
        and \(DemonstrationApp.phones) simulated phones behind a simulated APNs at https://\(installation.simulator).

          reported   \(DemonstrationApp.phones) phones to the gateway; \(startable) of them run an iOS that can be started, known after \(seconds(reportSeconds))
          started    \(started) activities of \(group) at 0:0; their update tokens were known after \(seconds(startSeconds))
          updated    \(updated) to 1:0 in \(seconds(updateSeconds)); the lock screens show \(shown)

        Look at one:  curl -s http://\(installation.control)/v1/phones/phone-0
        At all:       curl -s http://\(installation.control)/v1/groups/\(group)
        Watch it:     curl -s http://\(installation.admin)/metrics
        Stop it:      Ctrl-C; what was acknowledged is there at the next start.

        The demonstration walked the registry and pushed by itself; a backend posts its sends to the gateway.

        """
    }

    private func seconds(_ value: Double) -> String { "\((value * 100).rounded() / 100) s" }

    private static let goal = try? RawJSON(checking: Array(#"{"home":1,"away":0}"#.utf8), with: JSONReader())

    /// `940 × {"home":1,"away":0}`
    private var shown: String {
        guard let screens else { return "nothing" }
        return screens.shown.map { shown in
            "\(shown.activities) × \(shown.contentState.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "nothing")"
        }.joined(separator: ", ")
    }
}

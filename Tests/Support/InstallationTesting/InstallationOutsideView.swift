internal import CatalogRecords

/// The outside view at the end: the screens of the phones, and the answers to another customer who asks for
/// everything.
struct InstallationOutsideView {
    let screens: String
    /// Each question with its answer.
    private(set) var otherAppAnswers: [(question: String, answer: FleetBackend.GatewayResponse?)] = []
    /// Sends of the other customer to foreign targets, with the number of phones they found.
    private(set) var otherAppSends: [(question: String, targeted: Int)] = []

    init(
        of fleet: Fleet, by backend: FleetBackend, group: String, sends: [FleetBackend.AcceptedSend]
    ) async throws {
        screens = try await backend.screens(of: group)
        let key = fleet.otherApp.readKey
        var paths = [
            "/v1/activity-types", "/v1/segments", "/v1/definitions",
            "/v1/activity-types/\(fleet.mainApp.app.activityTypes[0].name)",
            "/v1/schedules?group=\(group)",
        ]
        paths += sends.prefix(3).map { "/v1/sends/\($0.id)?at=\($0.acceptedAt)" }
        for path in paths { otherAppAnswers.append((path, try await backend.get(path: path, key: key))) }
        // The other customer uses the same group and users in its own app.
        let bodies = [
            #"{"event":"update","groupId":"\#(group)","dryRun":true,"contentState":{"home":9}}"#,
            #"{"event":"update","groupId":"\#(group)","contentState":{"home":9}}"#,
            #"{"event":"end","groupId":"\#(group)","contentState":{"home":9},"audience":{"users":["user-1"]}}"#,
            #"{"event":"start","groupId":"own","dryRun":true,"audience":"everyone","attributesType":"MatchAttributes","attributes":{},"contentState":{"home":9},"alert":{"title":"a","body":"b"}}"#,
        ]
        for (number, body) in bodies.enumerated() {
            let send = try await backend.send(
                body, key: fleet.otherApp.sendKey, idempotencyKey: "stranger-\(group)-\(number)")
            var progress = try await backend.progress(of: send, key: key)
            while progress?.isComplete != true {
                try await Task.sleep(for: .milliseconds(20))
                progress = try await backend.progress(of: send, key: key)
            }
            otherAppSends.append((body, progress?.targeted ?? 0))
        }
    }
}

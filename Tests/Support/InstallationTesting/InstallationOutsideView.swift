internal import CatalogRecords
internal import ProcessTesting

/// The view of a fleet from outside at the end of a match: the screens of the phones, and the answers to another
/// customer, who asks for everything of the match and sends to its group.
struct InstallationOutsideView {
    /// The time limit for the progress of a send.
    private static let completionSecondsMax = 120.0

    /// The simulator's summary of the phones (`FleetBackend.screens(of:)`).
    let screens: String
    /// The paths that the other customer requested, with the answers.
    private(set) var otherAppAnswers: [(question: String, answer: FleetBackend.GatewayResponse?)] = []
    /// The bodies that the other customer sent, with the number of phones that each found.
    private(set) var otherAppSends: [(question: String, targeted: Int)] = []

    init(
        of fleet: Fleet, by backend: FleetBackend, group: String, sends: [FleetBackend.AcceptedSend]
    ) async throws {
        screens = try await backend.screens(of: group)
        let readKey = fleet.otherApp.readKey
        var paths = [
            "/v1/activity-types", "/v1/segments", "/v1/definitions",
            "/v1/activity-types/\(fleet.mainApp.app.activityTypes[0].name)",
            "/v1/schedules?group=\(group)",
        ]
        paths += sends.prefix(3).map { "/v1/sends/\($0.id)?at=\($0.acceptedAt)" }
        for path in paths { otherAppAnswers.append((path, try await backend.get(path: path, key: readKey))) }
        // The other customer names the same group and users. In its app they must find no phone.
        let bodies = [
            #"{"event":"update","groupId":"\#(group)","dryRun":true,"contentState":{"home":9}}"#,
            #"{"event":"update","groupId":"\#(group)","contentState":{"home":9}}"#,
            #"{"event":"end","groupId":"\#(group)","contentState":{"home":9},"audience":{"users":["user-1"]}}"#,
            #"{"event":"start","groupId":"own","dryRun":true,"audience":"everyone","attributesType":"MatchAttributes","attributes":{},"contentState":{"home":9},"alert":{"title":"a","body":"b"}}"#,
        ]
        for (number, body) in bodies.enumerated() {
            let send = try await backend.send(
                body, key: fleet.otherApp.sendKey, idempotencyKey: "stranger-\(group)-\(number)")
            let targeted = try await Self.targetCount(of: send, by: backend, key: readKey)
            otherAppSends.append((body, targeted))
        }
    }

    /// Waits until a send is complete, and returns the number of phones that it found.
    private static func targetCount(
        of send: FleetBackend.AcceptedSend, by backend: FleetBackend, key: String
    ) async throws -> Int {
        var deadline = PollingDeadline(seconds: completionSecondsMax)
        while true {
            let progress = try await backend.progress(of: send, key: key)
            if let progress, progress.isComplete { return progress.targeted }
            guard !deadline.hasPassed() else {
                throw FleetFailure("the other customer's send \(send.id) does not become complete")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

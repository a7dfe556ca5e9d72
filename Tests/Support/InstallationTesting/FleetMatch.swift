internal import CatalogRecords
internal import Foundation
internal import ProcessTesting

/// A match that a backend sends to the phones of a fleet: the bodies of its sends, and waits until phones have received
/// them. `meanwhile` is called again and again during a send or a wait, so that a test can go on with other work.
package struct FleetMatch {
    /// The time limit without any progress.
    private static let noProgressSecondsMax = 120.0

    package let group: String
    /// The name of the activity type.
    private let type: String
    /// A word in everything that phones show, so that a check can search for it elsewhere.
    private let secret: String
    private let fleet: Fleet
    private let backend: FleetBackend
    /// The beginning of all idempotency keys.
    private let runID = UUID().uuidString

    package init(group: String, fleet: Fleet, backend: FleetBackend, secret: String = "Larks") {
        (self.group, self.fleet, self.backend, self.secret) = (group, fleet, backend, secret)
        type = fleet.mainApp.app.activityTypes[0].name
    }

    package func contentState(goals: Int) -> String { #"{"home":\#(goals),"said":"\#(secret)"}"# }

    package func startBody(isDryRun: Bool = false) -> String {
        """
        {"event":"start","groupId":"\(group)","audience":"everyone",\(isDryRun ? #""dryRun":true,"# : "")\
        "attributesType":"\(type)","attributes":{"host":"\(secret)"},\
        "contentState":\(contentState(goals: 0)),"alert":{"title":"Kick-off","body":"\(secret)"}}
        """
    }

    package func updateBody(goals: Int, isDryRun: Bool = false) -> String {
        """
        {"event":"update","groupId":"\(group)",\(isDryRun ? #""dryRun":true,"# : "")"contentState":\(contentState(goals: goals))}
        """
    }

    package func endBody(goals: Int) -> String {
        #"{"event":"end","groupId":"\#(group)","contentState":\#(contentState(goals: goals))}"#
    }

    /// - Parameter name: A name that is unique in this match, for the idempotency key.
    package func send(
        _ body: String, named name: String, meanwhile: () async throws -> Void = {}
    ) async throws -> FleetBackend.AcceptedSend {
        try await backend.send(
            body, key: fleet.mainApp.sendKey, idempotencyKey: "\(runID)-\(name)", meanwhile: meanwhile)
    }

    /// Waits until a dry run finds this many phones.
    package func waitUntilFound(
        phones: Int, byDryRun body: String, meanwhile: () async throws -> Void = {}
    ) async throws {
        var deadline = PollingDeadline(seconds: Self.noProgressSecondsMax)
        var highestCount: Int?
        var dryRunCount = 0
        while true {
            dryRunCount += 1
            // The length of the body tells the dry runs of a start from those of an update.
            let progress = try await dryRun(
                body, named: "dry-\(phones)-\(dryRunCount)-\(body.count)", until: &deadline,
                meanwhile: meanwhile)
            if progress.targeted >= phones { return }
            // The end of the first dry run is progress, too.
            let hasProgressed = highestCount.map { progress.targeted > $0 } ?? true
            if hasProgressed {
                highestCount = progress.targeted
                deadline.restart()
            }
            guard !deadline.hasPassed() else {
                throw FleetFailure("a send finds \(progress.targeted) of \(phones) phones: \(progress)")
            }
            // A dry run reads the rows of all phones too, so the pause grows with the phones.
            let pauseSeconds = min(2, 0.1 + Double(phones) / 200_000)
            let pauseEnd = Date(timeIntervalSinceNow: pauseSeconds)
            while Date() < pauseEnd {
                try await meanwhile()
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// Sends the body of a dry run, and returns its progress when it is complete.
    private func dryRun(
        _ body: String, named name: String, until deadline: inout PollingDeadline,
        meanwhile: () async throws -> Void
    ) async throws -> FleetBackend.SendProgress {
        let acceptedSend = try await send(body, named: name, meanwhile: meanwhile)
        while true {
            let progress = try await backend.progress(of: acceptedSend, key: fleet.mainApp.readKey)
            if let progress, progress.isComplete { return progress }
            guard !deadline.hasPassed() else {
                throw FleetFailure("a dry run does not end: \(progress as Any)")
            }
            try await meanwhile()
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until this many pushes were delivered since the start of the simulator.
    package func waitUntilDelivered(
        pushes: Int, meanwhile: () async throws -> Void = {}
    ) async throws {
        var deadline = PollingDeadline(seconds: Self.noProgressSecondsMax)
        var highestCount = 0
        while true {
            let delivered = try await deliveredPushCount()
            if delivered >= pushes { return }
            if delivered > highestCount {
                highestCount = delivered
                deadline.restart()
            }
            guard !deadline.hasPassed() else {
                throw FleetFailure("\(delivered) of \(pushes) pushes were delivered")
            }
            try await meanwhile()
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Returns the number of pushes that phones received.
    package func deliveredPushCount() async throws -> Int {
        let text = try await backend.callSimulator(method: "GET", path: "/v1/summary")?.text ?? ""
        guard let range = text.range(of: "\"delivered\":") else { return 0 }
        return Int(text[range.upperBound...].prefix { $0.isNumber }) ?? 0
    }
}

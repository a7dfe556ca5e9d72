internal import Foundation
internal import IngestTesting
internal import Kafka
package import SenderTesting
internal import TokenSealing
internal import Topics

/// A check of a fleet's guarantees after a match. It uses the topics, the records of the simulated APNs, the screens,
/// the logs and the answers to another customer. It knows nothing of the stages. The initializer does all checks.
package struct InstallationCheck: Sendable {
    /// The memory limit of each process, for any audience.
    static let memoryMiBMax = 1_024

    /// The faults as texts.
    package private(set) var faults: [String] = []
    package let sender: SenderCheck
    /// The number of jobs in all sheets, and the number of their tokens.
    package private(set) var jobLines = 0
    package private(set) var tokens = 0
    /// The size of all logs.
    package private(set) var logBytes = 0
    /// The peak memory of the largest process.
    package let peakMemoryMiB: Int

    /// - Parameters:
    ///   - secret: A word in everything that phones show. It must not be in a log or in an answer to another app.
    ///   - permits: The permits of each sender.
    ///   - processFaults: The kills, freezes and stops of senders.
    ///   - peaks: The name and the peak memory of each process, in MiB.
    ///   - replayFaults: The faults that `InstallationReplay` found.
    init(
        fleet: Fleet, view: InstallationOutsideView, secret: String, permits: Int,
        after processFaults: [SenderKillTest.ProcessFault], peaks: [(String, Int)],
        replayed replayFaults: [String]
    ) throws {
        let keys = try fleet.sealingKeysPath.map { try SealingKeys(file: $0) }
        sender = try SenderCheck(
            on: fleet.bed, records: fleet.recordsPath, permits: permits, after: processFaults,
            sealingKeys: keys)
        peakMemoryMiB = peaks.map(\.1).max() ?? 0
        faults += sender.faults + replayFaults
        for (name, peakMiB) in peaks where peakMiB > Self.memoryMiBMax {
            faults.append("\(name) needed \(peakMiB) MiB")
        }
        let secrets = try JobSecrets(on: fleet.bed, keys: keys)
        (jobLines, tokens) = (secrets.jobCount, secrets.tokens.count)
        if !secrets.duplicates.isEmpty {
            let examples = secrets.duplicates.prefix(5).joined(separator: "; ")
            faults.append("\(secrets.duplicates.count) jobs were written twice: \(examples)")
        }
        checkScreens(view.screens, phones: fleet.plan.phones)
        checkOtherApp(view, secret: secret)
        try checkTopics(of: fleet, secrets: secrets)
        checkLogs(of: fleet, secrets: secrets, payload: secret)
    }

    package var summary: String {
        """
        \(jobLines) jobs for \(tokens) tokens; \(sender.summary); no process had more than \(peakMemoryMiB) MiB; \
        \(logBytes) bytes of logs
        """
    }

    /// Checks that each phone shows one activity. Phones whose start has an unknown outcome may show none.
    private mutating func checkScreens(_ screens: String, phones: Int) {
        let activities = screens.firstMatch(of: #/"activities":(\d+)/#).flatMap { Int($0.1) } ?? 0
        if activities > phones || activities < phones - sender.unknownStarts {
            faults.append("\(activities) of \(phones) phones show an activity")
        }
        if !screens.contains(#""phonesWithSeveral":0"#) {
            faults.append("phones show the match twice: \(screens)")
        }
    }

    /// Checks that another customer's app can neither read nor reach anything.
    private mutating func checkOtherApp(_ view: InstallationOutsideView, secret: String) {
        for (question, answer) in view.otherAppAnswers {
            guard let answer else {
                faults.append("no gateway answered \(question)")
                continue
            }
            // All names of the main app contain the canary. An answer may repeat the question, which contains it too.
            let text = answer.text.replacing(question, with: "")
            let hasName = text.contains("canary") && answer.status < 400
            if text.contains(secret) || hasName {
                faults.append("another app read \(question): \(answer.text.prefix(300))")
            }
            if question.contains("/sends/"), answer.status != 404 {
                faults.append("another app found a send: \(answer.status)")
            }
        }
        for (question, targeted) in view.otherAppSends where targeted > 0 {
            faults.append("another app reached \(targeted) phones by \(question)")
        }
    }

    /// Checks that no topic contains a token in the clear.
    private mutating func checkTopics(of fleet: Fleet, secrets: JobSecrets) throws {
        for topic in TopicName.allCases {
            var placesWithToken = 0
            try TopicContent.forEachRecord(of: topic, in: fleet.bed) { record in
                if secrets.hasToken(in: [UInt8](copying: record.value) ?? [])
                    || secrets.hasToken(in: [UInt8](copying: record.key) ?? [])
                {
                    placesWithToken += 1
                }
                let headers = record.headers
                for index in 0..<headers.count
                where secrets.hasToken(in: [UInt8](copying: headers[index].value) ?? []) {
                    placesWithToken += 1
                }
            }
            if placesWithToken > 0 {
                faults.append(
                    "\(placesWithToken) keys, values or headers of \(topic.rawValue) have a token in the clear"
                )
            }
        }
    }

    /// Checks that no log contains a payload or a token.
    private mutating func checkLogs(of fleet: Fleet, secrets: JobSecrets, payload secret: String) {
        var logs = fleet.members.flatMap { member in member.logs.map { (member.name, $0) } }
        if let broker = fleet.broker { logs.append(("broker", broker.logs)) }
        for (name, log) in logs {
            logBytes += log.utf8.count
            if log.contains(secret) { faults.append("a payload is in the log of \(name)") }
            if secrets.hasToken(in: Array(log.utf8)) { faults.append("a token is in the log of \(name)") }
        }
    }
}

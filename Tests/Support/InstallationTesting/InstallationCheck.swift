internal import Foundation
internal import IngestTesting
internal import Kafka
package import SenderTesting
internal import TokenSealing
internal import Topics

/// The verdict on a fleet's guarantees, made without knowledge of the stages.
package struct InstallationCheck: Sendable {
    /// The faults as texts.
    package private(set) var faults: [String] = []
    package let sender: SenderCheck
    package private(set) var jobLines = 0
    package private(set) var tokens = 0
    package private(set) var logBytes = 0
    package let peakMemoryMiB: Int

    /// The memory limit of each process, for any audience.
    static let memoryMiBMax = 1_024

    init(
        fleet: Fleet, view seen: InstallationOutsideView, secret: String, permits: Int,
        after happenings: [SenderKillTest.ProcessFault], peaks: [(String, Int)], replayed: [String]
    ) throws {
        let keys = try fleet.sealingKeysPath.map { try SealingKeys(file: $0) }
        sender = try SenderCheck(
            on: fleet.bed, records: fleet.recordsPath, permits: permits, after: happenings, sealingKeys: keys)
        peakMemoryMiB = peaks.map(\.1).max() ?? 0
        faults += sender.faults + replayed
        for (name, peak) in peaks where peak > Self.memoryMiBMax {
            faults.append("\(name) needed \(peak) MiB")
        }
        let secrets = try JobSecrets(on: fleet.bed, keys: keys)
        (jobLines, tokens) = (secrets.jobCount, secrets.tokens.count)
        if secrets.duplicateCount > 0 { faults.append("\(secrets.duplicateCount) jobs were written twice") }
        check(seen, phones: fleet.plan.phones, secret: secret)
        try checkTopics(of: fleet, secrets: secrets)
        checkLogs(of: fleet, secrets: secrets, payload: secret)
    }

    package var summary: String {
        """
        \(jobLines) jobs for \(tokens) tokens; \(sender.summary); no process had more than \(peakMemoryMiB) MiB; \
        \(logBytes) bytes of logs
        """
    }

    private mutating func check(_ view: InstallationOutsideView, phones: Int, secret: String) {
        let missing = sender.unknownStarts
        let activities =
            view.screens.firstMatch(of: #/"activities":(\d+)/#).flatMap { Int($0.1) } ?? 0
        if activities > phones || activities < phones - missing {
            faults.append("\(activities) of \(phones) phones show an activity")
        }
        if !view.screens.contains(#""phonesWithSeveral":0"#) {
            faults.append("phones show the match twice: \(view.screens)")
        }
        for (question, answer) in view.otherAppAnswers {
            guard let answer else {
                faults.append("no gateway answered \(question)")
                continue
            }
            // An answer may repeat the question.
            let words = answer.text.replacing(question, with: "")
            if words.contains(secret) || words.contains("canary") && answer.status < 400 {
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
            var found = 0
            try TopicContent.forEachRecord(of: topic, in: fleet.bed) { record in
                if secrets.hasToken(in: [UInt8](copying: record.value) ?? [])
                    || secrets.hasToken(in: [UInt8](copying: record.key) ?? [])
                {
                    found += 1
                }
                let headers = record.headers
                for index in 0..<headers.count
                where secrets.hasToken(in: [UInt8](copying: headers[index].value) ?? []) { found += 1 }
            }
            if found > 0 { faults.append("\(found) records of \(topic.rawValue) have a token in the clear") }
        }
    }

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

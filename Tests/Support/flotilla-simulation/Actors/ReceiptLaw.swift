import Containers
import InstallationRecords
import JSON
import Jobs
import RecordFormat
import Topics

/// The law of receipts: every job that was stored some time ago has a final receipt, and no receipt is for a job that does
/// not exist.
struct ReceiptLaw {
    private struct Job: Hashable {
        let position: JobPosition
        let line: Int
    }

    private unowned let world: World
    private let reader = JSONReader()

    init(in world: World) { self.world = world }

    /// Checks the jobs that were stored since a time, in milliseconds since 1970. Returns their number.
    func check(since milliseconds: Int64) throws -> Int {
        let jobs = try storedJobs(since: milliseconds)
        let finished = finishedJobs()
        for job in jobs where !finished.contains(job) {
            let position = "\(job.position.topic)/\(job.position.partition)"
            throw Violation(
                .oneReceipt,
                "the job on line \(job.line) of the sheet at offset \(job.position.offset) of \(position) has no final receipt"
            )
        }
        return jobs.count
    }

    private func storedJobs(since milliseconds: Int64) throws -> [Job] {
        var jobs: [Job] = []
        for topic in [TopicName.jobsUrgent, .jobs] {
            let name = world.layout.name(of: topic)
            for log in world.cluster.topics[name] ?? [] {
                var offset = log.startOffset
                while let record = log.nextCommitted(from: &offset) {
                    offset = record.offset + 1
                    // A sheet with an origin has jobs that were stored before.
                    guard record.timestamp >= milliseconds,
                        !record.headers.contains(where: { $0.name == "origin" })
                    else { continue }
                    let lines = record.headers.last { $0.name == "to" }?.value ?? []
                    let position = JobPosition(
                        topic: String(name.dropFirst(world.layout.prefix.count)), partition: log.partition,
                        offset: record.offset)
                    for line in 0..<(try SheetJobs(parsing: lines.span).count) {
                        jobs.append(Job(position: position, line: line))
                    }
                }
            }
        }
        return jobs
    }

    private func finishedJobs() -> Set<Job> {
        var finished: Set<Job> = []
        for log in world.cluster.topics[world.layout.name(of: .receipts)] ?? [] {
            var offset = log.startOffset
            while let record = log.nextCommitted(from: &offset) {
                offset = record.offset + 1
                guard let value = record.value, let receipt = try? Receipt.decode(value, with: reader) else {
                    continue
                }
                for part in receipt.parts where part.outcome.isFinal {
                    part.lines.forEachLine { finished.insert(Job(position: receipt.position, line: $0)) }
                }
            }
        }
        return finished
    }
}

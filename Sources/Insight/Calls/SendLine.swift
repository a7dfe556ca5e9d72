internal import JSON
internal import LiveActivity

/// One send in a list: what planner and lanes wrote of it, and what became of its jobs.
struct SendLine {
    let progress: SendProgress
    let report: SendReport
    /// Nil where nobody has counted.
    var opened: Int?

    /// - Parameter found: with the records of this send, and perhaps of others.
    init(_ id: String, _ found: Findings) {
        var progress = SendProgress(id: id)
        for part in found.progress where part.send == id { progress.add(part) }
        var report = SendReport()
        for one in found.tallies where one.send == id { report.add(one.tally, of: one.environment) }
        (self.progress, self.report) = (progress, report)
    }

    var acceptedAt: Int64 { progress.acceptedAt ?? report.whole?.acceptedAt ?? 0 }
    /// Jobs that lanes made of it; nil while none has said, and of a dry run, which makes none.
    private var expanded: Int? { progress.lanes.isEmpty || progress.isDryRun ? nil : progress.expanded }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("sendId", progress.id)
        writer.field("groupId", progress.key?.group ?? report.whole?.group)
        if case .user(let user)? = progress.key?.recipient ?? progress.recipient {
            writer.field("userId", user)
        }
        writer.field("event", report.whole?.event.rawValue)
        writer.field("verdict", progress.verdict)
        writer.field("isComplete", progress.isComplete)
        writer.field("dryRun", progress.isDryRun ? true : nil)
        writer.field("version", progress.planned?.version ?? report.whole?.version)
        writer.field("generation", progress.planned?.generation ?? report.whole?.generation)
        writer.field("acceptedAt", acceptedAt)
        writer.field("at", max(progress.at ?? 0, report.whole?.at ?? 0))
        writer.field("targeted", progress.targeted)
        writer.field("expanded", progress.expanded)
        writer.field("dropped", progress.dropped)
        progress.writeExcluded(to: &writer)
        writer.name("report")
        writer.beginObject()
        writeReport(to: &writer)
        writer.endObject()
        writer.endObject()
    }

    /// The members of a report.
    func writeReport(to writer: inout JSONWriter) {
        report.write(to: &writer, expanded: expanded)
        progress.writeSystems(to: &writer)
        writer.field("opened", opened)
    }
}

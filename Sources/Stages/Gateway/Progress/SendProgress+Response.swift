internal import HTTPServer
internal import JSON
internal import Sends

extension SendProgress {
    /// Returns the answer of `GET /v1/sends/{id}`: the facts that the planner and the lanes wrote about the send, and
    /// the outcomes of its jobs.
    ///
    /// - Parameter report: The outcomes as a JSON object of the insight stage, or nil if that stage does not answer.
    func response(report: [UInt8]?) -> HTTPResponse {
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.field("sendId", id)
        json.field("groupId", key?.group)
        json.field("verdict", stateName)
        json.field("reason", isUnknownGroup ? "unknown_group" : nil)
        json.field("conflicts", conflictCount == 0 ? nil : conflictCount)
        json.field("isComplete", isComplete)
        json.field("dryRun", isDryRun ? true : nil)
        json.field("acceptedAt", acceptedAt)
        json.field("at", lastWrittenAt)
        json.field("requestId", requestID)
        outline?.write(to: &json)
        json.field("dueAt", dueAt)
        json.field("version", plannerPart?.version)
        json.field("generation", plannerPart?.generation)
        json.field("findings", plannerPart?.findings)
        json.field("ended", plannerPart?.endedRecipients)
        json.field("lanesExpected", plannerPart?.laneCount)
        json.field("lanesDone", laneTallies.count)
        json.field("targeted", targeted)
        json.field("expanded", expanded)
        json.field("dropped", dropped)
        json.field("lanesPartlyVisited", partlyVisitedLanes == 0 ? nil : partlyVisitedLanes)
        writeExcluded(to: &json)
        writeLanes(to: &json)
        if let report, !report.isEmpty {
            json.name("report")
            unsafe report.withUnsafeBytes { unsafe json.raw($0) }
        } else {
            json.field("insightAway", true)
        }
        json.endObject()
        return .json(json.bytes)
    }

    private func writeLanes(to json: inout JSONWriter) {
        json.name("lanes")
        json.beginArray()
        for (lane, tally) in laneTallies.sorted(by: { $0.key < $1.key }) {
            json.beginObject()
            json.field("lane", lane)
            json.field("targeted", tally.targeted)
            json.field("expanded", tally.expanded)
            json.field("dropped", tally.dropped)
            json.endObject()
        }
        json.endArray()
    }
}

internal import JSON

/// The JSON form of a script, with the fields that `FaultScript+Reading` reads. Tokens are secrets, so only
/// the beginnings of their hashes are written.
extension FaultScript {
    /// - Parameter hits: the counts of each rule, in the order of the rules. Nil to write no counts.
    func write(to json: inout JSONWriter, hits: [RunningRule.HitCounts]? = nil) {
        json.beginObject()
        json.name("seed")
        json.value(seed)
        json.name("rules")
        json.beginArray()
        for (index, rule) in rules.enumerated() {
            json.beginObject()
            rule.writeFields(to: &json)
            if let hits = hits?[index] {
                json.object("hits") { json in
                    json.field("met", hits.matchCount)
                    json.field("acted", hits.actionCount)
                }
            }
            json.endObject()
        }
        json.endArray()
        if let timetable { json.object("timetable") { timetable.writeFields(to: &$0) } }
        json.endObject()
    }
}

extension FaultTimetable {
    fileprivate func writeFields(to json: inout JSONWriter) {
        json.field("everyMilliseconds", everyMilliseconds)
        json.name("steps")
        json.beginArray()
        for step in steps {
            json.beginObject()
            json.field("atMilliseconds", step.atMilliseconds)
            step.fault.writeField(to: &json)
            json.endObject()
        }
        json.endArray()
    }
}

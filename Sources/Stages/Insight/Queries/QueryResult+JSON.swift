internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Payloads
internal import RecordFormat
internal import Schedules
internal import Sends

// The JSON of answers between processes.

extension QueryResult {
    func write(to writer: inout JSONWriter) {
        writer.list("lanes", of: lanes) { $1.value($0) }
        writer.field("asOf", asOf == .max ? nil : asOf)
        writer.objects("tallies", of: tallies) { entry, writer in
            writer.field("send", entry.send)
            writer.field("environment", entry.environment.rawValue)
            writer.object("tally", record: entry.tally)
        }
        writer.objects("progress", of: progress) { $0.write(to: &$1) }
        writer.objects("sends", of: sends) { entry, writer in
            writer.field(entry.position)
            writer.field("send", entry.value)
        }
        writer.objects("scopes", of: scopes) { entry, writer in
            writer.field(entry.position)
            writer.field(entry.value.key)
            writer.object("row", record: entry.value.row)
        }
        writer.objects("failures", of: failures) { entry, writer in
            writer.field(entry.position)
            writer.name("push")
            writer.beginObject()
            entry.value.write(to: &writer)
            writer.endObject()
        }
        writer.objects("periods", of: periods) { $0.write(to: &$1) }
        writer.objects("freshness", of: freshness.samples) { sample, writer in
            writer.field("at", sample.at)
            writer.field("running", sample.running)
            writer.field("onNewest", sample.onNewest)
        }
        writer.objects("behind", of: freshness.behindSince.sorted { $0.key < $1.key }) { entry, writer in
            writer.field("group", entry.key)
            writer.field("since", entry.value)
        }
        writer.objects("running", of: running.sorted { $0.key < $1.key }) { entry, writer in
            writer.field("group", entry.key)
            writer.field("count", entry.value)
        }
        writer.objects("installations", of: installations) { $0.write(to: &$1) }
        writer.objects("users", of: users) { entry, writer in
            writer.field(entry.position)
            writer.field("user", entry.value.user)
            writer.field("installations", entry.value.installations)
            writer.field("hasProfile", entry.value.hasProfile ? true : nil)
            writer.field("lastReportAt", entry.value.lastReportAt)
        }
        writer.objects("listed", of: listedInstallations) { entry, writer in
            writer.field(entry.position)
            writer.object("installation", record: entry.value)
        }
        writer.objects("erasures", of: erasures.sorted { $0.key < $1.key }) { entry, writer in
            writer.field("recipient", entry.key)
            writer.field("at", entry.value)
        }
        writer.objects("timers", of: timers) { $0.write(to: &$1) }
        writer.objects("pushes", of: pushes) { $0.write(to: &$1) }
        writer.objects("events", of: events) { entry, writer in
            writer.field(entry.position)
            writer.object("event", record: entry.value)
        }
        writer.objects("counts", of: eventCounts) { entry, writer in
            writer.field("hour", entry.key.hour)
            writer.field("code", entry.key.code)
            writer.field("type", entry.key.type)
            writer.field("group", entry.key.group)
            writer.field("user", entry.key.user)
            writer.field("count", entry.count)
        }
        writer.list("taps", of: taps) { $1.value($0) }
        writer.objects("audit", of: audit) { entry, writer in
            writer.field(entry.position)
            writer.object("entry", record: entry.value)
        }
        writer.list("cuts", of: cuts) { $1.value($0.cursor) }
        writer.field("cutHour", cutHour)
        writer.field("limit", limit?.rawValue)
    }

    /// Reads an answer. A process of an older version answers without the optional fields.
    init(from record: JSONObject) {
        lanes = record["lanes"].list { $0.int(in: 0...Int(Int32.max)) }
        asOf = record["asOf"].optional?.timeMilliseconds() ?? .max
        tallies = record["tallies"].objects {
            EnvironmentTally(
                send: $0["send"].name(), environment: $0["environment"].environment(),
                tally: SendTally(from: $0["tally"].object()))
        }
        progress = record["progress"].objects { ProgressRecord(from: $0) }
        sends = record["sends"].objects {
            ListEntry(position: $0.listPosition(), value: $0["send"].name())
        }
        scopes = record["scopes"].objects {
            ListEntry(
                position: $0.listPosition(),
                value: GroupScope(key: $0.scopeKey(), row: GroupRow(from: $0["row"].object())))
        }
        failures =
            (record["failures"].optional?.objects {
                ListEntry(
                    position: $0.listPosition(), value: TimelinePush(from: $0["push"].object()))
            }) ?? []
        periods = (record["periods"].optional?.objects { PeriodTally(from: $0) }) ?? []
        freshness.samples =
            record["freshness"].optional?.objects {
                FreshnessHistory.Sample(
                    at: $0["at"].timeMilliseconds(), running: $0["running"].int(),
                    onNewest: $0["onNewest"].int())
            } ?? []
        let behind =
            record["behind"].optional?.objects { ($0["group"].name(), $0["since"].timeMilliseconds()) } ?? []
        for (group, since) in behind { freshness.behindSince[group] = since }
        for (group, count) in record["running"].objects(read: { ($0["group"].name(), $0["count"].int()) }) {
            running[group] = count
        }
        installations = record["installations"].objects { Installation(from: $0) }
        users =
            record["users"].optional?.objects {
                ListEntry(
                    position: $0.listPosition(),
                    value: UserSummary(
                        user: $0["user"].name(), installations: $0["installations"].int(),
                        hasProfile: $0["hasProfile"].optional?.bool() ?? false,
                        lastReportAt: $0["lastReportAt"].optional?.timeMilliseconds()))
            } ?? []
        listedInstallations =
            record["listed"].optional?.objects {
                ListEntry(
                    position: $0.listPosition(),
                    value: Installation(from: $0["installation"].object()))
            } ?? []
        for (recipient, at) in record["erasures"].objects(read: {
            ($0["recipient"].string(), $0["at"].timeMilliseconds())
        }) {
            erasures[recipient] = at
        }
        timers = record["timers"].objects { TimerRow(from: $0) }
        pushes = record["pushes"].objects { TimelinePush(from: $0) }
        events = record["events"].objects {
            ListEntry(position: $0.listPosition(), value: Event(from: $0["event"].object()))
        }
        eventCounts = record["counts"].objects {
            EventCount(
                key: .init(
                    hour: Int64($0["hour"].int()), code: $0["code"].name(),
                    type: $0["type"].optional?.name(), group: $0["group"].optional?.name(),
                    user: $0["user"].optional?.name()),
                count: $0["count"].int())
        }
        taps = record["taps"].list { $0.int() }
        audit = record["audit"].objects {
            ListEntry(position: $0.listPosition(), value: AuditEntry(from: $0["entry"].object()))
        }
        cuts = record["cuts"].optional?.list { $0.listPosition() } ?? []
        cutHour = (record["cutHour"].optional?.int()).map(Int64.init)
        limit = record["limit"].optional?.choice(of: QueryLimit.self)
    }
}

extension JSONWriter {
    mutating func object(_ name: StaticString, record: some JSONRecord) {
        self.name(name)
        beginObject()
        record.write(to: &self)
        endObject()
    }

    /// Writes the position of a list's entry.
    fileprivate mutating func field(_ position: ListPosition) { field("place", position.cursor) }
}

extension JSONObject {
    /// Returns the position of a list's entry.
    fileprivate func listPosition() -> ListPosition { self["place"].listPosition() }
}

extension JSONValue {
    /// A limit above the size of any answer.
    private static var elementsMax: Int { 1_000_000 }

    func list<Value>(read: (JSONValue) -> Value) -> [Value] {
        var list: [Value] = []
        var elements = array(countMax: Self.elementsMax)
        while let element = elements.next() { list.append(read(element)) }
        return list
    }

    func objects<Value>(read: (JSONObject) -> Value) -> [Value] { list { read($0.object()) } }

    func listPosition() -> ListPosition {
        if let position = ListPosition(cursor: string()) { return position }
        report("must be a position in a list")
        return ListPosition(at: 0, tieBreaker: [])
    }
}

extension TimelinePush {
    /// Writes the fields of a push in an answer to a caller, and its recipient.
    func write(to writer: inout JSONWriter) {
        writeReport(to: &writer)
        writer.field("recipient", addressee.recipient)
    }

    init(from object: JSONObject) {
        addressee = ReceiptLines.Addressee(
            installation: object["installationId"].string(), entry: object["entry"].string(),
            recipient: object["recipient"].string())
        send = object["sendId"].string()
        group = object["groupId"].optional?.string()
        version = object["version"].version()
        event = object["event"].choice(of: PushEvent.self) ?? .update
        environment = object["environment"].environment()
        attempt = object["attempt"].int()
        outcome = object["outcome"].choice(of: ReceiptOutcome.self) ?? .unknown
        status = object["status"].optional?.int()
        reason = object["reason"].optional?.string()
        dueAt = object["dueAt"].optional?.timeMilliseconds()
        acceptedAt = object["acceptedAt"].timeMilliseconds()
        at = object["at"].timeMilliseconds()
    }
}

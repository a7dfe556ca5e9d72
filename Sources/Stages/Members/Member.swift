internal import Identifiers
package import JSON

/// A process that answers queries about the lanes that it owns, as a record of the topic `members`. The process
/// writes the record again regularly, and whenever its lanes change. It deletes the record at a clean stop.
package struct Member: MembersRecord, Hashable {
    package static let schemaVersion = 1
    /// A limit far beyond any number of lanes.
    private static let lanesMax = 100_000

    package var stage: String
    /// The identity of the process in its stage. Its Kafka clients use the same name.
    package var process: String
    package var host: String
    package var port: Int
    /// The secret that a query must carry. It is in Kafka, so only programs that may read the topics know it.
    package var secret: String
    /// The certificate of the process in PEM, which its callers trust. Nil if it answers without TLS. Each start has a new
    /// one, and only programs that may write the topic can publish one.
    package var certificate: String?
    package var lanes: [Int]
    /// Milliseconds since 1970.
    package var startedAt: Int64
    package var at: Int64

    package init(
        stage: String, process: String, host: String, port: Int, secret: String, lanes: [Int],
        startedAt: Int64, at: Int64
    ) {
        self.stage = stage
        self.process = process
        self.host = host
        self.port = port
        self.secret = secret
        self.lanes = lanes
        self.startedAt = startedAt
        self.at = at
    }

    package var key: [UInt8] { Self.key(stage: stage, process: process) }

    package static func key(stage: String, process: String) -> [UInt8] { RecordKey.join(stage, process) }

    /// The host and port, such as `10.0.0.7:9300` or `[fd00::7]:9300`.
    package var address: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    package func write(to writer: inout JSONWriter) {
        writer.field("stage", stage)
        writer.field("process", process)
        writer.field("host", host)
        writer.field("port", port)
        writer.field("secret", secret)
        writer.field("certificate", certificate)
        writer.name("lanes")
        writer.beginArray()
        for lane in lanes { writer.value(lane) }
        writer.endArray()
        writer.field("startedAt", startedAt)
        writer.field("at", at)
    }

    package init(from record: JSONObject) {
        var lanes: [Int] = []
        var elements = record["lanes"].array(countMax: Self.lanesMax)
        while let element = elements.next() { lanes.append(element.int(in: 0...Int(Int32.max))) }
        self.init(
            stage: record["stage"].name(), process: record["process"].name(), host: record["host"].name(),
            port: record["port"].int(in: 1...65_535), secret: record["secret"].name(), lanes: lanes,
            startedAt: record["startedAt"].timeMilliseconds(), at: record["at"].timeMilliseconds())
        certificate = record["certificate"].optional?.string()
    }
}

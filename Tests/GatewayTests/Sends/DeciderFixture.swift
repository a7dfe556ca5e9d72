import Catalog
import CatalogRecords
import ContentSchemas
import Identifiers
import JSON
import RecordFormat
import Sends
import Telemetry
import TokenSealing

@testable import Gateway
@testable import HTTPServer

/// A catalog with an app, its activity types and a segment, and the deciders of the gateway. Tests validate bodies of
/// sends with them, without a gateway and without Kafka.
struct DeciderFixture {
    /// 2026-11-20T20:00:00Z.
    static let now = WallTime(milliseconds: 1_795_204_800_000)

    var app: App
    var catalog = CatalogSnapshot()
    var keys: SealingKeys?
    private let reader = JSONReader(
        limits: JSONLimits(
            bytesMax: GatewayLimits.sendBytesMax, depthMax: GatewayLimits.depthMax,
            keysMax: GatewayLimits.sendFieldsMax))

    /// The shared type `Match`, with a schema for its content state.
    static var match: ActivityType {
        var type = ActivityType(name: "Match")
        type.requiredAttributes = ["home", "away"]
        type.contentStateSchema = try? JSONReader().read(Array(#"{"score":"int","status":"string"}"#.utf8)) {
            ContentSchema(from: $0)
        }
        return type
    }

    /// Makes an app with the shared type `Match`, and with the private type `Order` if `privateType` is true.
    init(privateType: Bool = false) {
        app = App(
            id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
            keyID: "KEY1234567", types: [Self.match])
        if privateType {
            var order = ActivityType(name: "Order")
            order.isPrivate = true
            order.groupAttribute = "orderId"
            app.activityTypes.append(order)
        }
        let segment = Segment(app: "shop", name: "vips", rule: SegmentRule.tag("vip"))
        _ = catalog.apply(key: segment.key, value: segment.encoded(), with: JSONReader())
    }

    /// Returns the context of a request with this body.
    func context(
        _ body: String, headers: HTTPHeaders = [:], query: [(name: String, value: String)] = [],
        as role: APIKey.Role = .send
    ) -> RequestContext {
        RequestContext(
            body: Array(body.utf8), headers: headers, query: query, role: role,
            userProofs: UserProofCheck(seal: TokenSeal(keys: keys)), author: "key", address: "127.0.0.1",
            app: app,
            catalog: catalog, now: Self.now, reader: reader)
    }

    /// The deciders of the interfaces: Flotilla's own one, and three of Netmera.
    static let own = SendDecider(route: "/v1/sends", fields: .standard, lanes: 4) { root, context in
        SendBody.draft(from: root, now: context.now)
    }
    static let bulk = SendDecider(route: NetmeraEndpoint.bulkPath, fields: NetmeraBulk.fields, lanes: 4) {
        root, _ in NetmeraBulk.draft(from: root)
    }
    static let update = SendDecider(route: NetmeraEndpoint.updatePath, fields: NetmeraUpdate.fields, lanes: 4)
    {
        root, _ in NetmeraUpdate.draft(from: root)
    }
    static let transactional = SendDecider(
        route: NetmeraEndpoint.transactionalPath, fields: NetmeraTransactional.fields, lanes: 4
    ) { root, context in NetmeraTransactional.draft(from: root, of: context.app, in: context.catalog) }

    /// Returns the send that follows from a body. Throws the refusal.
    func send(
        _ body: String, by decider: SendDecider = own, headers: HTTPHeaders = [:]
    ) throws -> Send {
        let records: [OutgoingRecord]
        switch try decider.decide(in: context(body, headers: headers)) {
        case .store(let stored, _): records = stored
        case .askStage(let request): records = request.records(replyTo: nil)
        case .answer, .readCatalog, .changeCatalog: throw NotStored()
        }
        // The record before the send is the entry of the audit log. A dry run has none.
        guard let sendRecord = records.last,
            case .send(let send) = try SendRequest.decode(sendRecord.value ?? [], with: JSONReader()),
            records.count == (send.isDryRun ? 1 : 2), send.scopeKey?.bytes == sendRecord.key
        else { throw NotStored() }
        return send
    }

    /// Returns all problems as `field code`, or an empty list.
    func problems(in body: String, by decider: SendDecider = own) -> [String] {
        do {
            _ = try send(body, by: decider)
            return []
        } catch let error as RefusedRequest {
            return error.problems.map { "\($0.field) \($0.code)" }
        } catch {
            return ["\(error)"]
        }
    }

    /// A body was accepted without a send.
    struct NotStored: Error {}
}

/// Returns a valid start with members added, replaced or, with the value nil, removed. The values are JSON.
func startBody(_ changes: [String: String?] = [:]) -> String {
    body(
        of: [
            "event": #""start""#, "groupId": #""m1""#, "attributesType": #""Match""#,
            "audience": #""everyone""#, "attributes": #"{"home":"A","away":"B"}"#,
            "contentState": #"{"score":0,"status":"1st"}"#, "alert": #"{"title":"Kick-off"}"#,
        ], changedBy: changes)
}

/// Returns a valid update with members added, replaced or removed.
func updateBody(_ changes: [String: String?] = [:]) -> String {
    body(
        of: ["event": #""update""#, "groupId": #""m1""#, "contentState": #"{"score":1,"status":"2nd"}"#],
        changedBy: changes)
}

/// Returns a valid end with members added, replaced or removed.
func endBody(_ changes: [String: String?] = [:]) -> String {
    body(of: ["event": #""end""#, "groupId": #""m1""#], changedBy: changes)
}

private func body(of members: [String: String], changedBy changes: [String: String?]) -> String {
    var members = members
    for (name, value) in changes { members[name] = value }
    let membersByName = members.sorted { $0.key < $1.key }
    return "{" + membersByName.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
}

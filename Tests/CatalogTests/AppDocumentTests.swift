import CatalogRecords
import JSON
import RecordFormat
import Testing

@testable import Catalog

// The document from which an app is created, and the problems of wrong documents.

/// Returns the problems of a document.
private func problems(in text: String, id: String = "shop") -> [String] {
    do {
        _ = try AppDocument.parse(Array(text.utf8), id: id)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

/// The fields that a document must have.
private let requiredFields =
    #""bundleId":"com.example.shop","environments":["production"],"teamId":"ABCDE12345","keyId":"KEY1234567""#

@Test func `an app's document reads back as the stored app`() throws {
    var app = makeApp()
    var type = ActivityType(name: "MatchAttributes")
    type.requiredAttributes = ["home"]
    type.updateTokenMilliseconds = 3_600_000
    type.groupAttribute = "matchId"
    app.activityTypes = [type]
    #expect(try AppDocument.parse(app.encoded(), id: "shop") == app)
}

// Each document, and a part of its problem.
@Test(arguments: [
    (#"{"id":"other",\#(requiredFields)}"#, "id must be shop"),
    (#"{\#(requiredFields),"colour":1}"#, "colour is not a known"),
    (#"{\#(requiredFields),"certificate":"x.pem"}"#, "certificate cannot be used: a certificate expires"),
    (#"{\#(requiredFields),"p8":"-----BEGIN"}"#, "p8 must not be here: the private key"),
    (#"{\#(requiredFields),"activityTypes":[{"name":"A","ttl":1}]}"#, "activityTypes[0].ttl is not a known"),
    (
        #"{\#(requiredFields),"activityTypes":[{"name":"A"},{"name":"A"}]}"#,
        "activityTypes[1] has the name of another"
    ),
    (
        #"{\#(requiredFields),"activityTypes":[{"name":"A","updateTokenTtl":86400}]}"#,
        #"updateTokenTtl must be a time from 1m to 7d"#
    ),
    (
        #"{\#(requiredFields),"activityTypes":[{"name":"A","updateTokenTtl":"8d"}]}"#,
        "updateTokenTtl must be a time from"
    ),
    (
        #"{\#(requiredFields),"activityTypes":[{"name":"A","updateTokenTtl":"24"}]}"#,
        "updateTokenTtl must be a time from"
    ),
    (
        #"{"bundleId":"com/x","environments":["production"],"teamId":"ABCDE12345","keyId":"KEY1234567"}"#,
        "bundleId must be 1 to 155"
    ),
    (
        #"{"bundleId":"c","environments":[],"teamId":"ABCDE12345","keyId":"KEY1234567"}"#,
        "environments must name production"
    ),
    (
        #"{"bundleId":"c","environments":["sandbox","sandbox"],"teamId":"ABCDE12345","keyId":"KEY1234567"}"#,
        "environments[1] is listed twice"
    ),
    (
        #"{"bundleId":"c","environments":["sandbox"],"teamId":"team","keyId":"push.p12"}"#,
        "teamId must be 10 capital"
    ),
])
func `a problem with an app is reported with its path`(
    document: String, problem: String
) {
    #expect(problems(in: document).contains { $0.contains(problem) }, "\(problems(in: document))")
}

@Test func `a token's lifetime needs a unit, except in documents of an older version`()
    throws
{
    func lifetime(inVersion version: Int, _ text: String) throws -> Int64? {
        let type = #"{"name":"A","updateTokenTtl":\#(text)}"#
        let document = #"{"v":\#(version),\#(requiredFields),"activityTypes":[\#(type)]}"#
        return try AppDocument.parse(Array(document.utf8), id: "shop").activityTypes.first?
            .updateTokenMilliseconds
    }
    let minute: Int64 = 60_000
    #expect(try lifetime(inVersion: 2, #""90m""#) == 90 * minute)
    #expect(try lifetime(inVersion: 2, #""7d""#) == 7 * 24 * 60 * minute)
    #expect(try lifetime(inVersion: 1, "3600000") == 60 * minute)
    #expect(try lifetime(inVersion: 1, #""2h""#) == 120 * minute)
    #expect(throws: JSONError.self) { try lifetime(inVersion: 2, "3600000") }
}

@Test func `an id that is not valid in a topic's key is refused`() {
    #expect(problems(in: "{\(requiredFields)}", id: "a/b").contains { $0.contains("id must be 1 to 64") })
}

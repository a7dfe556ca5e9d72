import CatalogRecords
import JSON
import RecordFormat
import Testing

@testable import Catalog

private func problems(_ text: String, id: String = "shop") -> [String] {
    do {
        _ = try AppDocument.parse(Array(text.utf8), id: id)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

private let good =
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

@Test(arguments: [
    (#"{"id":"other",\#(good)}"#, "id must be shop"), (#"{\#(good),"colour":1}"#, "colour is not a known"),
    (#"{\#(good),"certificate":"x.pem"}"#, "certificate cannot be used: a certificate expires"),
    (#"{\#(good),"p8":"-----BEGIN"}"#, "p8 must not be here: the private key"),
    (#"{\#(good),"activityTypes":[{"name":"A","ttl":1}]}"#, "activityTypes[0].ttl is not a known"),
    (#"{\#(good),"activityTypes":[{"name":"A"},{"name":"A"}]}"#, "activityTypes[1] has the name of another"),
    (
        #"{\#(good),"activityTypes":[{"name":"A","updateTokenTtl":86400}]}"#,
        #"updateTokenTtl must be a time from 1m to 7d"#
    ),
    (
        #"{\#(good),"activityTypes":[{"name":"A","updateTokenTtl":"8d"}]}"#,
        "updateTokenTtl must be a time from"
    ),
    (
        #"{\#(good),"activityTypes":[{"name":"A","updateTokenTtl":"24"}]}"#,
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
func `a problem with an app is reported with its path`(_ text: String, _ problem: String) {
    #expect(problems(text).contains { $0.hasPrefix(problem) || $0.contains(problem) }, "\(problems(text))")
}

@Test func `a token's lifetime needs a unit, except in documents of an older version`()
    throws
{
    func life(_ version: Int, _ text: String) throws -> Int64? {
        let type = #"{"name":"A","updateTokenTtl":\#(text)}"#
        let document = #"{"v":\#(version),\#(good),"activityTypes":[\#(type)]}"#
        return try AppDocument.parse(Array(document.utf8), id: "shop").activityTypes.first?
            .updateTokenMilliseconds
    }
    #expect(try life(2, #""90m""#) == 5_400_000 && life(2, #""7d""#) == 7 * 86_400_000)
    #expect(try life(1, "3600000") == 3_600_000 && life(1, #""2h""#) == 7_200_000)
    #expect(throws: JSONError.self) { try life(2, "3600000") }
}

@Test func `an id that is not valid in a topic's key is refused`() {
    #expect(problems("{\(good)}", id: "a/b").contains { $0.contains("id must be 1 to 64") })
}

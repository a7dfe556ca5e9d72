import CatalogRecords
import Identifiers
import JSON
import RecordFormat
import RecordTesting
import Testing

// The record of an app.

private var reader: JSONReader { JSONReader() }

@Test func `an app has this format and reads back, and an unknown type has the defaults`() throws {
    var type = ActivityType(name: "Match")
    type.requiredAttributes = ["home"]
    type.groupAttribute = "groupId"
    type.updateTokenMilliseconds = 3_600_000
    let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production, .sandbox], teamID: "ABCDE12345",
        keyID: "KEY1234567", types: [type])
    #expect(
        text(of: app)
            == #"{"v":2,"id":"shop","bundleId":"com.example.shop","environments":["production","sandbox"],"teamId":"ABCDE12345","keyId":"KEY1234567","activityTypes":[{"name":"Match","updateTokenTtl":"1h","requiredAttributes":["home"],"groupAttribute":"groupId"}]}"#
    )
    #expect(try App.decode(app.encoded(), with: reader) == app)
    #expect(app.activityType(named: "Other").groupAttribute == "netmeraGroupId")
    #expect(
        problems(reading: App.self, from: text(of: app).replacing("ABCDE12345", with: "abc")) == [
            "teamId invalid"
        ])
}

@Test func `an app does not allow schedules without proofs unless its record says it`() throws {
    var app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
        keyID: "KEY1234567")
    #expect(!app.allowsUnprovenSchedules && !app.requiresUserProof)
    app.allowsUnprovenSchedules = true
    #expect(text(of: app).hasSuffix(#","unprovenSchedules":true}"#))
    #expect(try App.decode(app.encoded(), with: reader) == app)
}

@Test func `an app record keeps its schemas and is refused if one is wrong`() throws {
    var type = ActivityType(name: "Match")
    type.contentStateSchema = schema(#"{"home":"int"}"#)
    type.attributesSchema = schema(#"{"netmeraGroupId":"string?"}"#)
    let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
        keyID: "KEY1234567", types: [type])
    let json = text(of: app)
    #expect(
        json.contains(
            #""groupAttribute":"netmeraGroupId","contentStateSchema":{"home":"int"},"attributesSchema":{"netmeraGroupId":"string?"}}"#
        ))
    #expect(try App.decode(app.encoded(), with: reader) == app)
    let wrong = json.replacing(#"{"home":"int"}"#, with: #"{"home":"Int"}"#)
    do {
        _ = try App.decode(Array(wrong.utf8), with: reader)
        Issue.record("a wrong schema was accepted")
    } catch {
        #expect(error.description.contains("activityTypes[0].contentStateSchema.home must be one of int"))
    }
}

@Test func `an activity type keeps its layout, and a request with an unknown member is refused`() throws {
    let json =
        #"{"title":"cup","sides":[{"score":"home","name":"homeName"},{"score":"away"}],"progress":{"field":"minute","end":90},"countdown":"kickOff","lines":["phase"],"steps":[{"label":"home +1","field":"home","add":1}]}"#
    func problems(in layout: String) -> [String] {
        do {
            try reader.read(Array(#"{"layout":\#(layout)}"#.utf8)) { value in
                let object = value.object()
                let type = ActivityType(name: "Match", from: object)
                ActivityType.reportUnknownFields(in: object)
                var writer = JSONWriter()
                type.layout?.write(to: &writer)
                // The valid layout is written as it was read.
                #expect(layout != json || String(decoding: writer.bytes, as: UTF8.self) == json)
            }
            return []
        } catch { return error.problems.map(\.path) }
    }
    #expect(problems(in: json).isEmpty)
    #expect(problems(in: #"{"sides":[{"score":"home"}]}"#) == ["layout.sides"])
    #expect(problems(in: #"{"progress":{"field":"minute","end":0}}"#) == ["layout.progress.end"])
    #expect(problems(in: #"{"step":[]}"#) == ["layout.step"])
    #expect(
        problems(in: json.replacing(#""add":1"#, with: #""add":1,"by":1"#)) == ["layout.steps[0].by"])
}

@Test func `a damaged app never traps`() {
    var type = ActivityType(name: "Match")
    type.contentStateSchema = schema(#"{"home":"int"}"#)
    let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
        keyID: "KEY1234567", types: [type])
    forEachDamagedCopy(of: [app.encoded()], seed: 4) { _ = try? App.decode($0, with: reader) }
}

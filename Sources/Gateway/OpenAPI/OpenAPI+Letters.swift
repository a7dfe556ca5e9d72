extension OpenAPI {
    private static func query(_ name: String, _ schema: String, means description: String) -> String {
        ##"{"name":"\##(name)","in":"query","required":false,"description":"\##(description)","schema":\##(schema)}"##
    }

    private static let which = [
        query("stage", #"{"type":"string"}"#, means: "Of the stage that gave up."),
        query("reason", #"{"type":"string"}"#, means: "With this code."),
        query("since", #"{"type":"integer"}"#, means: "Given up since, in milliseconds since 1970."),
        query("until", #"{"type":"integer"}"#, means: "Given up before."),
        query("settled", #"{"const":"true"}"#, means: "Also what was sent again or discarded."),
    ].joined(separator: ",")
    private static let limit = query(
        "limit", #"{"type":"integer","minimum":1,"maximum":1000}"#,
        means: "So many at most: 100 unless said otherwise.")
    private static let place = ["partition", "offset"].map {
        #"{"name":"\#($0)","in":"path","required":true,"schema":{"type":"integer","minimum":0}}"#
    }.joined(separator: ",")

    static let letterPaths = #"""
        "/v1/dead-letters":{"get":{"operationId":"deadLetters","summary":"What stages could not use of the app's records, by what is wrong.","description":"Role read.","security":[{"bearer":[]}],"parameters":[\#(which),\#(limit)],"responses":{\#(answer(200, "letterSums", meaning: "Sums.")),\#(refusals())}}},
        "/v1/dead-letters/each":{"get":{"operationId":"eachDeadLetter","summary":"One by one.","description":"Role read.","security":[{"bearer":[]}],"parameters":[\#(which),\#(limit)],"responses":{\#(answer(200, "letters", meaning: "The newest first.")),\#(refusals())}}},
        "/v1/dead-letters/{partition}/{offset}":{"get":{"operationId":"deadLetter","summary":"All of one, without its tokens.","description":"Role read.","security":[{"bearer":[]}],"parameters":[\#(place)],"responses":{\#(answer(200, "letter", meaning: "It.")),\#(refusals(missing: true))}}},
        "/v1/dead-letters/redrive":{"post":{"operationId":"redriveDeadLetters","summary":"Sends them again, but for what is too old or has something newer behind it.","description":"Role admin. What takes longer than an answer may goes on; ask again which are open.","security":[{"bearer":[]}],\#(body("letterOrder")),"responses":{\#(answer(200, "redriven", meaning: "What went, or would go.")),\#(refusals(body: true))}}},
        "/v1/dead-letters/discard":{"post":{"operationId":"discardDeadLetters","summary":"Marks them as what nobody wants any more.","description":"Role admin.","security":[{"bearer":[]}],\#(body("letterOrder")),"responses":{\#(answer(200, "discarded", meaning: "How many were marked, or would be.")),\#(refusals(body: true))}}}
        """#

    static let letterSchemas = #"""
        "letterOrder":{"type":"object","additionalProperties":false,"description":"Which letters: all that match everything that is said, and something must be said.","properties":{"letters":{"type":"array","maxItems":1000,"items":{"type":"string","pattern":"^[0-9]+/[0-9]+$"}},"stage":{"type":"string"},"reason":{"type":"string"},"since":{"type":"integer"},"until":{"type":"integer"},"every":{"type":"boolean","description":"Where nothing else says which."},"dryRun":{"type":"boolean","description":"Counts, and does nothing."}}},
        "letterSums":{"type":"object","required":["sums","others"],"additionalProperties":false,"properties":{"sums":{"type":"array","items":{"type":"object"}},"others":{"type":"integer","description":"Letters of further kinds."}}},
        "letters":{"type":"object","required":["letters","more"],"additionalProperties":false,"properties":{"letters":{"type":"array","items":{"$ref":"#/components/schemas/letter"}},"more":{"type":"integer"}}},
        "letter":{"type":"object","required":["letter","at","stage","reason","message","jobs","state"],"properties":{"letter":{"type":"string"},"at":{"type":"integer"},"stage":{"type":"string"},"app":{"type":"string"},"reason":{"type":"string"},"message":{"type":"string"},"jobs":{"type":"integer"},"state":{"enum":["open","redriven","discarded","in_doubt"]},"topic":{"type":"string"},"partition":{"type":"integer"},"offset":{"type":"integer"},"writtenAt":{"type":"integer"},"bytes":{"type":"integer"},"sentAgainFrom":{"type":"array","items":{"type":"string"}},"send":{"type":"string"},"groupId":{"type":"string"},"event":{"type":"string"},"version":{"type":"integer"},"deadline":{"type":"integer"},"pushes":{"type":"array","items":{"type":"object","required":["installationId","entry","recipient","token"],"properties":{"installationId":{"type":"string"},"entry":{"type":"string"},"recipient":{"type":"string"},"token":{"type":"string","description":"The beginning of its digest."}}}}}},
        "redriven":{"type":"object","required":["letters","jobs","settled","stay"],"additionalProperties":false,"properties":{"dryRun":{"const":true},"letters":{"type":"integer"},"jobs":{"type":"integer"},"settled":{"type":"integer","description":"Found sent by a call that was interrupted."},"stay":{"type":"array","items":{"type":"object","required":["reason","count","message"],"properties":{"reason":{"type":"string"},"count":{"type":"integer"},"message":{"type":"string"}}}}}},
        "discarded":{"type":"object","required":["letters"],"additionalProperties":false,"properties":{"dryRun":{"const":true},"letters":{"type":"integer"},"inDoubt":{"type":"integer","description":"Begun to be sent again: they stay."}}}
        """#
}

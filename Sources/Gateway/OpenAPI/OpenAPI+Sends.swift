extension OpenAPI {
    static let sendPaths = #"""
        "/v1/sends":{\#(listSends),"post":{"operationId":"send","summary":"Starts, updates or ends activities, for any audience.","description":"Role send. 202 when all in-sync replicas have it.","security":[{"bearer":[]}],"parameters":[{"$ref":"#/components/parameters/idempotencyKey"}],\#(body("send", example: startExample)),"responses":{\#(answer(202, "accepted", meaning: "Accepted; Location says where to ask about it.")),\#(refusals(body: true, conflict: true))}}},
        "/v1/sends/{id}":{"get":{"operationId":"sendProgress","summary":"How far a send has come.","description":"Role read.","security":[{"bearer":[]}],"parameters":[{"$ref":"#/components/parameters/sendId"},{"$ref":"#/components/parameters/at"}],"responses":{\#(answer(200, "progress", meaning: "What planner and lanes have written until now, and what became of the jobs.")),\#(refusals(missing: true))}},
        "delete":{"operationId":"cancelSend","summary":"Takes back what has not been expanded and pushed yet.","description":"Role send. What lanes stopped follows in the send's progress; where an update had taken the place of another, the state before it is sent again.","security":[{"bearer":[]}],"parameters":[{"$ref":"#/components/parameters/sendId"},{"$ref":"#/components/parameters/at"}],"responses":{\#(answer(202, "cancelling", meaning: "Stored; the lanes will stop it.")),\#(refusals(missing: true))}}}
        """#

    static let startExample = #"""
        {"event":"start","groupId":"match-42","attributesType":"MatchAttributes","audience":"everyone","attributes":{"homeTeamName":"Arsenal","awayTeamName":"Liverpool"},"contentState":{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"1st half"},"alert":{"title":"Kick-off","body":"Arsenal against Liverpool"}}
        """#

    static let sendSchemas = #"""
        "send":{"type":"object","required":["event"],"additionalProperties":false,"properties":{
        "event":{"enum":["start","update","end"]},
        "groupId":{"$ref":"#/components/schemas/name","description":"The same activity across recipients. Required, unless one activity is named."},
        "attributesType":{"$ref":"#/components/schemas/name","description":"The activity type. Required on a start; on others the type by which the content is checked."},
        "audience":{"description":"Of a start: everyone, segments, tags or users. Of others: group (what is meant without it), users or activities.","oneOf":[{"enum":["everyone","group"]},{"type":"object","required":["segments"],"additionalProperties":false,"properties":{"segments":{"$ref":"#/components/schemas/names"}}},{"type":"object","required":["tags"],"additionalProperties":false,"properties":{"tags":{"$ref":"#/components/schemas/names"}}},{"type":"object","required":["users"],"additionalProperties":false,"properties":{"users":{"$ref":"#/components/schemas/names"}}},{"type":"object","required":["activities"],"additionalProperties":false,"properties":{"activities":{"$ref":"#/components/schemas/names"}}}]},
        "private":{"type":"boolean","description":"The group is its one user's alone, though its type does not say so."},
        "contentState":{"$ref":"#/components/schemas/state"},
        "attributes":{"$ref":"#/components/schemas/state","description":"On a start: every property of the type but the group's, which is put in."},
        "alert":{"type":"object","additionalProperties":false,"description":"Required on a start, with a title or a body.","properties":{"title":{"$ref":"#/components/schemas/text"},"body":{"$ref":"#/components/schemas/text"},"sound":{"type":"string"}}},
        "priority":{"enum":[5,10],"description":"10 unless said otherwise."},
        "staleDate":{"$ref":"#/components/schemas/date","description":"When the content is outdated; not on an end."},
        "dismissalDate":{"$ref":"#/components/schemas/date","description":"When the activity leaves the Lock Screen; on an end only."},
        "endDate":{"$ref":"#/components/schemas/date","description":"When the activity is ended by itself; on a start only, at most 30 days ahead."},
        "deadline":{"$ref":"#/components/schemas/date","description":"From when on nobody wants it any more; at most 20 hours ahead."},
        "expiration":{"$ref":"#/components/schemas/date","description":"Until when APNs keeps it for a phone that is away; 0 for one attempt."},
        "relevanceScore":{"type":"number"},
        "inputPushToken":{"type":"boolean","description":"On a start: asks iOS 18 for an update token."},
        "collapseId":{"type":"string","minLength":1,"maxLength":64,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
        "when":{"$ref":"#/components/schemas/when"},
        "latenessMax":{"$ref":"#/components/schemas/latenessMax"},
        "delivery":{"enum":["tokens"],"description":"auto and channel answer not_available in this version."},
        "conflate":{"type":"boolean","description":"On an update: whether a newer one may take its place while it waits; true unless said otherwise."},
        "onUnknownStart":{"enum":["skip","resend"],"description":"On a start: what happens to one whose outcome nobody knows."},
        "restart":{"type":"boolean","description":"On a start: also where it was started, or dismissed, before."},
        "dryRun":{"type":"boolean","description":"Walks the same way and pushes nothing; GET shows the counts."}}},
        "accepted":{"type":"object","required":["sendId","acceptedAt","bytes","warnings"],"additionalProperties":false,"properties":{"sendId":{"type":"string"},"acceptedAt":{"type":"integer"},"dueAt":{"$ref":"#/components/schemas/dueAt"},"underWay":{"$ref":"#/components/schemas/underWay"},"bytes":{"type":"integer","description":"Of what APNs gets; 4,096 are allowed."},"dryRun":{"const":true},"warnings":{"type":"array","items":{"$ref":"#/components/schemas/problem"}}}},
        "cancelling":{"type":"object","required":["sendId","cancelling"],"additionalProperties":false,"properties":{"sendId":{"type":"string"},"cancelling":{"const":true}}},
        "progress":{"type":"object","required":["sendId","verdict","isComplete","lanesDone","targeted","expanded","dropped","excluded","lanes"],"additionalProperties":false,"properties":{
        "sendId":{"type":"string"},"groupId":{"type":"string"},
        "verdict":{"enum":["accepted","scheduled","planned","held","superseded","conflict","ended","outdated","expired","refused","unknownApp","cancelled","stopping"],"description":"accepted: nobody has planned it yet; scheduled: it waits for its time."},
        "reason":{"enum":["unknown_group"]},"conflicts":{"type":"integer","minimum":1,"description":"Requests under its key that said something else: none of them was carried out."},"isComplete":{"type":"boolean"},"dryRun":{"const":true},"acceptedAt":{"type":"integer"},"at":{"type":"integer"},"dueAt":{"$ref":"#/components/schemas/dueAt"},"version":{"type":"integer"},"generation":{"type":"integer"},
        "findings":{"type":"array","items":{"type":"string"}},"ended":{"type":"integer"},"lanesExpected":{"type":"integer"},"lanesDone":{"type":"integer"},
        "targeted":{"type":"integer"},"expanded":{"type":"integer"},"dropped":{"type":"integer"},"excluded":{"type":"object","additionalProperties":{"type":"integer"}},
        "lanes":{"type":"array","items":{"type":"object","required":["lane","targeted","expanded","dropped"],"properties":{"lane":{"type":"integer"},"targeted":{"type":"integer"},"expanded":{"type":"integer"},"dropped":{"type":"integer"}}}},
        "report":{"$ref":"#/components/schemas/report"},"insightAway":{"const":true,"description":"Nobody of the insight stage answers: there is no report."}}}
        """#
}

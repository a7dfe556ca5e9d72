extension OpenAPI {
    private static let whose =
        ##"{"$ref":"#/components/parameters/scheduleUser"},{"$ref":"#/components/parameters/scheduleGroup"}"##
    private static let proof = ##"{"$ref":"#/components/parameters/userProof"}"##

    static let schedulePaths = #"""
        "/v1/schedules":{"post":{"operationId":"schedule","summary":"Shows or ends an activity of one user later; under the id of a schedule that waits it takes its place.","description":"Role report (a phone, for its own user) or send. 200 when the scheduler has it; 202 when it is stored and the scheduler has not said so within 2 s.","security":[{"bearer":[]}],"parameters":[{"$ref":"#/components/parameters/idempotencyKey"}],\#(body("schedule", example: scheduleExample)),"responses":{\#(answer(200, "scheduled", meaning: "It waits for its time.")),\#(answer(202, "scheduled", meaning: "Stored: it is under way to the scheduler.")),\#(refusals(body: true, conflict: true))}},
        "get":{"operationId":"listSchedules","summary":"What waits for a user or a group: the next 100.","description":"Role read.","security":[{"bearer":[]}],"parameters":[\#(whose)],"responses":{\#(answer(200, "schedules", meaning: "The next to go first.")),\#(refusals())}},
        "delete":{"operationId":"cancelSchedules","summary":"Takes back what waits, and counts it.","description":"Role report (a phone, for its own user) or send. What is acknowledged 2 s before it is due never goes.","security":[{"bearer":[]}],"parameters":[\#(whose),{"$ref":"#/components/parameters/scheduleActivity"},{"$ref":"#/components/parameters/scheduleId"},\#(proof)],"responses":{\#(answer(200, "canceled", meaning: "So many go no more.")),\#(answer(202, "canceled", meaning: "Stored: it is under way to the scheduler.")),\#(refusals())}}}
        """#

    static let scheduleExample = #"""
        {"user":"jane","activity":"chest_timer","offset":60,"customData":{"remaining":0,"status":"ready"},"systemData":{"event":"update"}}
        """#

    static let scheduleSchemas = #"""
        "offset":{"type":"number","minimum":0,"maximum":31622400,"description":"Seconds from now, by the cluster's clock."},
        "when":{"description":"When it goes: now unless said otherwise; seconds from now by the cluster's clock; or a date, at most 366 days ahead.","oneOf":[{"enum":["now"]},{"$ref":"#/components/schemas/isoDate"},{"type":"integer","minimum":0,"maximum":100000000000},{"type":"object","required":["offset"],"additionalProperties":false,"properties":{"offset":{"$ref":"#/components/schemas/offset"}}}]},
        "latenessMax":{"type":"integer","minimum":1,"maximum":86400,"description":"Seconds: what could not go at its time goes up to so much later, and then no more; 600 unless said otherwise."},
        "dueAt":{"type":"integer","description":"When it goes, in milliseconds since 1970."},
        "underWay":{"const":true,"description":"Stored, and it will be carried out; the scheduler had not said so within 2 s."},
        "schedule":{"type":"object","required":["user","activity"],"additionalProperties":false,"properties":{
        "user":{"$ref":"#/components/schemas/name"},
        "userProof":{"type":"string","description":"With a key of the role report, where the app requires it: the hex HMAC-SHA256 of the user id."},
        "activity":{"$ref":"#/components/schemas/name","description":"The activity among those of the user, Teak's activityId: the groupId that the phone reports its update token with."},
        "id":{"$ref":"#/components/schemas/name","description":"Of the schedule, among those of the user; one that waits under it is replaced. Its send's id, unless said otherwise."},
        "name":{"$ref":"#/components/schemas/name","description":"For people, and for the report of a tap."},
        "offset":{"$ref":"#/components/schemas/offset"},
        "at":{"$ref":"#/components/schemas/date","description":"In place of offset."},
        "latenessMax":{"$ref":"#/components/schemas/latenessMax"},
        "customData":{"$ref":"#/components/schemas/state"},
        "systemData":{"type":"object","additionalProperties":false,"properties":{"event":{"enum":["update","end"],"description":"update unless said otherwise."},"stale-date":{"$ref":"#/components/schemas/date"},"dismissal-date":{"$ref":"#/components/schemas/date"}}},
        "alert":{"type":"object","description":"As in a send."},
        "priority":{"enum":[5,10]},
        "attributesType":{"$ref":"#/components/schemas/name","description":"The type by which the content is checked, in an app of several."}}},
        "scheduled":{"type":"object","required":["scheduleId","sendId","bytes","warnings"],"additionalProperties":false,"properties":{"scheduleId":{"type":"string"},"scheduleName":{"type":"string"},"sendId":{"type":"string","description":"For GET and DELETE /v1/sends/{id}."},"dueAt":{"$ref":"#/components/schemas/dueAt"},"replaced":{"type":"boolean"},"underWay":{"$ref":"#/components/schemas/underWay"},"bytes":{"type":"integer"},"warnings":{"type":"array","items":{"$ref":"#/components/schemas/problem"}}}},
        "canceled":{"type":"object","additionalProperties":false,"properties":{"canceled":{"type":"integer"},"tooLate":{"type":"integer","description":"Of those that were meant, so many had gone within the last minute."},"underWay":{"$ref":"#/components/schemas/underWay"}}},
        "schedules":{"type":"object","required":["items","isComplete"],"additionalProperties":false,"properties":{"items":{"type":"array","maxItems":100,"items":{"type":"object","required":["scheduleId","event","dueAt","sendId"],"additionalProperties":false,"properties":{"scheduleId":{"type":"string"},"scheduleName":{"type":"string"},"activity":{"type":"string"},"event":{"enum":["start","update","end"]},"dueAt":{"$ref":"#/components/schemas/dueAt"},"sendId":{"type":"string"}}}},"isComplete":{"type":"boolean"}}}
        """#
}

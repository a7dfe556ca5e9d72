extension OpenAPI {
    private static func parameter(_ name: String, _ schema: String) -> String {
        ##"{"name":"\##(name)","in":"query","required":false,"schema":\##(schema)}"##
    }

    private static let name = ##"{"$ref":"#/components/schemas/name"}"##
    private static let time = ##"{"type":"integer","minimum":0}"##
    private static let range = [parameter("from", time), parameter("to", time)]
    private static let code = parameter("code", ##"{"enum":["n:lst","n:lut","n:lac","profile","tap"]}"##)
    private static let byType = parameter("type", name)
    private static let byGroup = parameter("group", name)

    private static func pages(max: Int = 500) -> [String] {
        [
            parameter("limit", ##"{"type":"integer","minimum":1,"maximum":\##(max),"default":50}"##),
            parameter("cursor", ##"{"type":"string"}"##),
        ]
    }

    private static let path =
        ##"{"name":"id","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}}"##

    private static func get(
        _ id: String, _ summary: String, parameters: [String], schema: String, missing: Bool = false,
        files: [String] = []
    ) -> String {
        ##""get":{"operationId":"\##(id)","summary":"\##(summary)","description":"Role read. Answered by the insight stage; 503 insight_away without it, insight_partial while nobody answers for the lanes that may have what is asked for.","security":[{"bearer":[]}],"parameters":[\##(parameters.joined(separator: ","))],"responses":{\##(answer(200, schema, meaning: "As far as asOf, and without the lanes of partial.", files: files)),\##(refusals(missing: missing))}}"##
    }

    static let listSends = get(
        "listSends", "Sends and what became of them, the newest first; at most 7 days.",
        parameters: [byGroup] + range + pages(), schema: "sendList")
    static let getUser = get(
        "user", "What is known of a user's phones, and why they show what they show.", parameters: [path],
        schema: "user",
        missing: true)

    static let insightPaths = ##"""
        "/v1/groups":{\##(get("listGroups", "Groups as they are now, those with the newest send first.", parameters: [parameter("state", ##"{"enum":["live","ended","all"]}"##)] + pages(), schema: "groupList"))},
        "/v1/groups/{id}":{\##(get("group", "One group: its newest state, what runs, and its versions.", parameters: [path, parameter("user", name)], schema: "group", missing: true))},
        "/v1/groups/{id}/timeline":{\##(get("groupTimeline", "All versions of a group and what became of them.", parameters: [path] + pages(), schema: "timeline", missing: true))},
        "/v1/installations/{id}":{\##(get("installation", "What is known of one phone, and why it shows what it shows.", parameters: [path], schema: "installation", missing: true))},
        "/v1/events":{\##(get("listEvents", "What phones told, by time; at most 31 days. With format csv or jsonl a file, and the next cursor in the header Next-Cursor.", parameters: [parameter("user", name), parameter("installation", name), byGroup, code, byType] + range + [parameter("order", ##"{"enum":["newest","oldest"]}"##), parameter("format", ##"{"enum":["json","csv","jsonl"]}"##)] + pages(max: 5000), schema: "eventList", files: ["text/csv", "application/x-ndjson"]))},
        "/v1/events/counts":{\##(get("countEvents", "How often what happened, by hour or by day; at most 31 days.", parameters: [code, byType, byGroup] + range + [parameter("by", ##"{"enum":["hour","day"]}"##), parameter("split", ##"{"type":"string","description":"Any of code, type, group, with commas between."}"##)], schema: "eventCounts"))},
        "/v1/fleet":{\##(get("fleet", "How far behind the readers of the topics are, and who answers for which lanes.", parameters: [], schema: "fleet"))},
        "/v1/audit":{\##(get("audit", "Who changed what, the newest first; at most 400 days.", parameters: range + pages(), schema: "auditList"))}
        """##

    private static let ends =
        ##""asOf":{"type":"integer","description":"Up to when the topics have been read, in milliseconds since 1970."},"partial":{"type":"object","required":["lanes"],"properties":{"lanes":{"type":"array","items":{"type":"integer"},"description":"Those that did not answer: figures are without them."}}}"##
    private static let next =
        ##""next":{"type":"string","description":"The cursor of the next page; left out at the end."}"##
    private static func list(_ of: String) -> String {
        ##"{"type":"array","items":{"$ref":"#/components/schemas/\##(of)"}}"##
    }

    static let insightSchemas = ##"""
        "report":{"type":"object","properties":{"pushed":{"type":"integer","description":"accepted, rejected and unknown together."},"accepted":{"type":"integer","description":"APNs took it; nothing of what a phone shows."},"superseded":{"type":"integer"},"expired":{"type":"integer"},"unknown":{"type":"integer"},"rejected":{"type":"integer"},"rejectedBy":{"type":"object","additionalProperties":{"type":"integer"}},"toGo":{"type":"integer"},"opened":{"type":"integer","description":"Taps on the group's activities until its next send."},"latencyMilliseconds":{"type":"object","properties":{"p50":{"type":"integer"},"p90":{"type":"integer"},"p99":{"type":"integer"},"max":{"type":"integer"}}},"environments":{"type":"object"},"systems":{"type":"object","additionalProperties":{"type":"integer"},"description":"Jobs by the first number of the phone's iOS."},"bySystem":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"integer"}},"description":"How they ended, by the same."},\##(ends)}},
        "sendLine":{"type":"object","required":["sendId","verdict","isComplete","acceptedAt","at","targeted","expanded","dropped","excluded","report"],"properties":{"sendId":{"type":"string"},"groupId":{"type":"string"},"userId":{"type":"string"},"event":{"enum":["start","update","end"]},"verdict":{"type":"string"},"isComplete":{"type":"boolean"},"dryRun":{"const":true},"version":{"type":"integer"},"generation":{"type":"integer"},"acceptedAt":{"type":"integer"},"at":{"type":"integer"},"targeted":{"type":"integer"},"expanded":{"type":"integer"},"dropped":{"type":"integer"},"excluded":{"type":"object","additionalProperties":{"type":"integer"}},"report":{"$ref":"#/components/schemas/report"}}},
        "sendList":{"type":"object","required":["sends"],"properties":{"sends":\##(list("sendLine")),\##(next),\##(ends)}},
        "timeline":{"type":"object","required":["groupId","versions"],"properties":{"groupId":{"type":"string"},"versions":\##(list("sendLine")),\##(next),\##(ends)}},
        "group":{"type":"object","required":["groupId","state","version","generation","updates","lastAt","running","onNewest"],"properties":{"groupId":{"type":"string"},"userId":{"type":"string"},"state":{"enum":["live","ended"]},"attributesType":{"type":"string"},"version":{"type":"integer"},"generation":{"type":"integer"},"updates":{"type":"integer"},"startedAt":{"type":"integer"},"endedAt":{"type":"integer"},"endDate":{"type":"integer"},"lastAt":{"type":"integer"},"waitingSendId":{"type":"string"},"newest":{"type":"object"},"running":{"type":"integer"},"onNewest":{"type":"integer"},"share":{"type":"number"},"versions":\##(list("sendLine")),\##(ends)}},
        "groupList":{"type":"object","required":["groups"],"properties":{"groups":\##(list("group")),\##(next),\##(ends)}},
        "why":{"type":"object","required":["code","sentence"],"properties":{"code":{"type":"string"},"sentence":{"type":"string"},"installationId":{"type":"string"},"groupId":{"type":"string"},"activityId":{"type":"string"},"at":{"type":"integer"}}},
        "push":{"type":"object","properties":{"at":{"type":"integer"},"acceptedAt":{"type":"integer"},"sendId":{"type":"string"},"groupId":{"type":"string"},"version":{"type":"integer"},"event":{"enum":["start","update","end"]},"environment":{"type":"string"},"installationId":{"type":"string"},"entry":{"type":"string"},"attempt":{"type":"integer"},"outcome":{"type":"string"},"status":{"type":"integer"},"reason":{"type":"string"},"dueAt":{"type":"integer","description":"A job that waits goes again then."}}},
        "event":{"type":"object","required":["at","receivedAt","code"],"properties":{"at":{"type":"integer"},"receivedAt":{"type":"integer"},"code":{"type":"string"},"installationId":{"type":"string"},"userId":{"type":"string"},"attributesType":{"type":"string"},"activityId":{"type":"string"},"groupId":{"type":"string"},"token":{"type":"string","description":"tok: and 8 digits of its hash."},"cause":{"type":"string"},"environment":{"type":"string"},"scheduleId":{"type":"string"},"scheduleName":{"type":"string"}}},
        "installation":{"type":"object","required":["installationId","startTokens","activities","why"],"properties":{"installationId":{"type":"string"},"userId":{"type":"string"},"environment":{"type":"string"},"os":{"type":"string"},"appBuild":{"type":"string"},"locale":{"type":"string"},"timeZone":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"attributes":{"type":"object"},"activitiesEnabled":{"type":"boolean"},"frequentPushesEnabled":{"type":"boolean"},"heardAt":{"type":"integer"},"startTokens":{"type":"array","items":{"type":"object"}},"activities":{"type":"array","items":{"type":"object"}},"why":{"$ref":"#/components/schemas/why"},"pushes":\##(list("push")),"events":\##(list("event")),\##(ends)}},
        "user":{"type":"object","required":["userId","installations","pushes","events","schedules","why"],"properties":{"userId":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"attributes":{"type":"object"},"installations":\##(list("installation")),"pushes":\##(list("push")),"events":\##(list("event")),"schedules":{"type":"array","items":{"type":"object"}},"why":{"$ref":"#/components/schemas/why"},\##(ends)}},
        "eventList":{"type":"object","required":["events"],"properties":{"events":\##(list("event")),\##(next),\##(ends)}},
        "eventCounts":{"type":"object","required":["by","from","to","buckets","totals"],"properties":{"by":{"enum":["hour","day"]},"from":{"type":"integer"},"to":{"type":"integer"},"buckets":{"type":"array","items":{"type":"object","required":["at","count"],"properties":{"at":{"type":"integer"},"code":{"type":"string"},"type":{"type":"string"},"group":{"type":"string"},"count":{"type":"integer"}}}},"totals":{"type":"object","additionalProperties":{"type":"integer"}},\##(ends)}},
        "fleet":{"type":"object","required":["lag","members","processes","openBreakers","differences","lanes"],"properties":{"lag":{"type":"array","items":{"type":"object","properties":{"stage":{"type":"string"},"topic":{"type":"string"},"records":{"type":"integer"},"partitions":{"type":"integer"},"oldestAt":{"type":"integer"}}}},"lagUnknown":{"const":true},"members":{"type":"array","items":{"type":"object"}},"processes":{"type":"array","items":{"type":"object","required":["process","version","stages","startedAt","heardAt"],"properties":{"process":{"type":"string"},"version":{"type":"string"},"stages":{"type":"array","items":{"type":"string"}},"suspectTokens":{"type":"integer","description":"Tokens that failed the last time."},"startedAt":{"type":"integer"},"heardAt":{"type":"integer"}}}},"openBreakers":{"type":"array","description":"Where pushing pauses for the key's app, as its setting is wrong.","items":{"type":"object","properties":{"process":{"type":"string"},"environment":{"type":"string"}}}},"differences":{"type":"array","description":"Settings that processes have differently.","items":{"type":"object","properties":{"key":{"type":"string"},"values":{"type":"array","items":{"type":"object","properties":{"value":{"type":"string"},"processes":{"type":"array","items":{"type":"string"}}}}}}}},"lanes":{"type":"object"},\##(ends)}},
        "auditList":{"type":"object","required":["entries"],"properties":{"entries":{"type":"array","items":{"type":"object","required":["at","by","action"],"properties":{"at":{"type":"integer"},"by":{"type":"string"},"action":{"type":"string"},"subject":{"type":"string"},"address":{"type":"string"}}}},\##(next),\##(ends)}}
        """##
}

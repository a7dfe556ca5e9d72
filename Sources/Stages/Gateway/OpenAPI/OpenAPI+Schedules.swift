// The calls about schedules.

extension OpenAPI {
    private static let ownerParameters =
        ##"{"$ref":"#/components/parameters/scheduleUser"},{"$ref":"#/components/parameters/scheduleGroup"}"##
    private static let proof = ##"{"$ref":"#/components/parameters/userProof"}"##

    static let schedulePaths = #"""
        "/v1/schedules":{
          "post":{
            "operationId":"schedule",
            "summary":"Schedules an update or end of one user's activity. The id of a waiting schedule replaces that schedule.",
            "description":"Role send, or report: a phone, for its own user, in an app that requires user proofs or allows schedules without them (else 403 `schedules_need_proof`). 200 when the scheduler has the schedule. 202 when it is stored and the scheduler did not reply within 2 s.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/idempotencyKey"}],
            \#(body(schema: "schedule", example: scheduleExample)),
            "responses":{
              \#(response(200, schema: "scheduled", meaning: "The schedule waits for its time.")),
              \#(response(202, schema: "scheduled", meaning: "Stored and under way to the scheduler.")),
              \#(refusals(body: true, conflict: true))
            }
          },
          "get":{
            "operationId":"listSchedules",
            "summary":"The waiting schedules of a user or a group, 100 on a page.",
            "description":"Role read.",
            "security":[{"bearer":[]}],
            "parameters":[\#(ownerParameters),{"$ref":"#/components/parameters/scheduleCursor"}],
            "responses":{
              \#(response(200, schema: "schedules", meaning: "The earliest first.")),
              \#(refusals())
            }
          },
          "delete":{
            "operationId":"cancelSchedules",
            "summary":"Cancels waiting schedules and counts them.",
            "description":"Role send, or report as for POST. A schedule never fires if the cancel is acknowledged 2 s before its due time.",
            "security":[{"bearer":[]}],
            "parameters":[
              \#(ownerParameters),{"$ref":"#/components/parameters/scheduleActivity"},
              {"$ref":"#/components/parameters/scheduleId"},\#(proof)
            ],
            "responses":{
              \#(response(200, schema: "canceled", meaning: "The number of cancelled schedules.")),
              \#(response(202, schema: "canceled", meaning: "Stored and under way to the scheduler.")),
              \#(refusals())
            }
          }
        }
        """#

    static let scheduleExample = #"""
        {
          "user":"jane",
          "activity":"chest_timer",
          "offset":60,
          "customData":{"remaining":0,"status":"ready"},
          "systemData":{"event":"update"}
        }
        """#

    static let scheduleSchemas = #"""
        "offset":{
          "type":"number",
          "minimum":0,
          "maximum":31622400,
          "description":"Seconds from now, by the cluster's clock."
        },
        "when":{
          "description":"The time of the send: now (the default), seconds from now by the cluster's clock, or a date at most 366 days ahead.",
          "oneOf":[
            {"enum":["now"]},
            {"$ref":"#/components/schemas/isoDate"},
            {"type":"integer","minimum":0,"maximum":100000000000},
            {
              "type":"object",
              "required":["offset"],
              "additionalProperties":false,
              "properties":{"offset":{"$ref":"#/components/schemas/offset"}}
            }
          ]
        },
        "latenessMax":{
          "type":"integer",
          "minimum":1,
          "maximum":86400,
          "description":"The allowed lateness in seconds. A send that would be later is dropped. The default is 600."
        },
        "dueAt":{"type":"integer","description":"The time of the send, in milliseconds since 1970."},
        "underWay":{
          "const":true,
          "description":"The request is stored and will be carried out. The scheduler did not reply within 2 s."
        },
        "schedule":{
          "type":"object",
          "required":["user","activity"],
          "additionalProperties":false,
          "properties":{
            "user":{"$ref":"#/components/schemas/name"},
            "userProof":{
              "type":"string",
              "description":"The hex HMAC-SHA256 of the user id, or SECONDS.HMAC.INSTALLATION. Used with a key of the role report, if the app requires it."
            },
            "activity":{
              "$ref":"#/components/schemas/name",
              "description":"The user's activity (Teak's activityId). It is the groupId that the phone reports with its update token."
            },
            "id":{
              "$ref":"#/components/schemas/name",
              "description":"The id of the schedule, unique for the user. A waiting schedule with the same id is replaced. The default is the sendId."
            },
            "name":{
              "$ref":"#/components/schemas/name",
              "description":"A name for people and for reports of taps."
            },
            "offset":{"$ref":"#/components/schemas/offset"},
            "at":{"$ref":"#/components/schemas/date","description":"A date, instead of offset."},
            "latenessMax":{"$ref":"#/components/schemas/latenessMax"},
            "customData":{"$ref":"#/components/schemas/state"},
            "systemData":{
              "type":"object",
              "additionalProperties":false,
              "properties":{
                "event":{"enum":["update","end"],"description":"The default is update."},
                "stale-date":{"$ref":"#/components/schemas/date"},
                "dismissal-date":{"$ref":"#/components/schemas/date"}
              }
            },
            "alert":{"type":"object","description":"As in a send."},
            "priority":{"enum":[5,10]},
            "attributesType":{
              "$ref":"#/components/schemas/name",
              "description":"The type that the content is checked against. Needed if the app has several types."
            }
          }
        },
        "scheduled":{
          "type":"object",
          "required":["scheduleId","sendId","bytes","warnings"],
          "additionalProperties":false,
          "properties":{
            "scheduleId":{"type":"string"},
            "scheduleName":{"type":"string"},
            "sendId":{"type":"string","description":"For GET and DELETE /v1/sends/{id}."},
            "dueAt":{"$ref":"#/components/schemas/dueAt"},
            "replaced":{"type":"boolean"},
            "underWay":{"$ref":"#/components/schemas/underWay"},
            "bytes":{"type":"integer"},
            "warnings":{"type":"array","items":{"$ref":"#/components/schemas/problem"}}
          }
        },
        "canceled":{
          "type":"object",
          "additionalProperties":false,
          "properties":{
            "canceled":{"type":"integer"},
            "tooLate":{
              "type":"integer",
              "description":"The selected schedules that had fired within the last minute."
            },
            "underWay":{"$ref":"#/components/schemas/underWay"}
          }
        },
        "schedules":{
          "type":"object",
          "required":["items"],
          "additionalProperties":false,
          "properties":{
            "items":{
              "type":"array",
              "maxItems":100,
              "items":{
                "type":"object",
                "required":["scheduleId","event","dueAt","sendId"],
                "additionalProperties":false,
                "properties":{
                  "scheduleId":{"type":"string"},
                  "scheduleName":{"type":"string"},
                  "activity":{"type":"string"},
                  "event":{"enum":["start","update","end"]},
                  "dueAt":{"$ref":"#/components/schemas/dueAt"},
                  "sendId":{"type":"string"}
                }
              }
            },
            "next":{"type":"string","description":"The cursor of the next page; omitted on the last page."}
          }
        }
        """#
}
